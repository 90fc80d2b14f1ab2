// Symbolic dimensions: normal forms, values, bounds, text.
#include "ir/exprs.h"

#include <gtest/gtest.h>

#include <random>

namespace isthmus::exprs_test {
namespace {

Exprs with_symbols() {
  Exprs exprs;
  exprs.declare({"s0", 1, 64, 3});
  exprs.declare({"h", 3, std::nullopt, 17});
  exprs.declare({"u0", std::nullopt, std::nullopt, std::nullopt});
  return exprs;
}

std::string normal(std::string_view text) {
  Exprs exprs = with_symbols();
  const auto dim = exprs.parse(text);
  return dim ? exprs.text(*dim) : dim.error().message;
}

TEST(Exprs, EqualExpressionsHaveOneForm) {
  EXPECT_EQ(normal("s0+s0"), "2*s0");
  EXPECT_EQ(normal("s0-s0"), "0");
  EXPECT_EQ(normal("h*s0-s0*h+4"), "4");
  EXPECT_EQ(normal("2*floordiv(h-1,2)+2"), "2*floordiv(h+1,2)");
  EXPECT_EQ(normal("floordiv(h-1,2)+1"), normal("floordiv(h+1,2)"));
  EXPECT_EQ(normal("floordiv(4*s0,4)"), "s0");
  EXPECT_EQ(normal("floordiv(h*s0,s0)"), "h");
  EXPECT_EQ(normal("floordiv(7,2)"), "3");
  EXPECT_EQ(normal("floordiv(-7,2)"), "-4");
  EXPECT_EQ(normal("h-2*floordiv(h,2)"), "-2*floordiv(h,2)+h");
}

TEST(Exprs, BoundsSimplifyExtremes) {
  EXPECT_EQ(normal("max(1,s0)"), "s0");
  EXPECT_EQ(normal("min(s0,100)"), "s0");
  EXPECT_EQ(normal("max(4,s0)"), "max(4,s0)");
  EXPECT_EQ(normal("max(s0,4)"), "max(4,s0)");
  EXPECT_EQ(normal("max(h,h+1)"), "h+1");
}

TEST(Exprs, MistakesAreReported) {
  EXPECT_EQ(normal("s1"), "symbol s1 is not declared");
  EXPECT_EQ(normal("s0+"), "dimension 's0+': expected a number, a symbol or a function at column 4");
  EXPECT_EQ(normal("foo(1,2)"), "dimension 'foo(1,2)': unknown function foo");
  EXPECT_EQ(normal("99999999999999999999"), "dimension '99999999999999999999': expected a 64-bit integer at column 1");
  EXPECT_EQ(normal(std::string(5000, '(')).substr(0, 9), "dimension");
}

TEST(Exprs, OverflowBecomesOpaqueNotUndefined) {
  Exprs exprs = with_symbols();
  const Dim big(std::numeric_limits<std::int64_t>::max());
  const Dim product = exprs.multiply(exprs.multiply(big, exprs.symbol("s0")), exprs.multiply(big, exprs.symbol("h")));
  EXPECT_FALSE(product.is_fixed());
  EXPECT_FALSE(exprs.evaluate(product, {{"s0", 1}, {"h", 1}}).has_value());
  EXPECT_FALSE(exprs.add(big, 1).is_fixed());
  EXPECT_FALSE(exprs.floor_divide(5, 0).is_fixed());
}

TEST(Exprs, ExactDivision) {
  Exprs exprs = with_symbols();
  const auto divide = [&](std::string_view a, std::string_view b) -> std::string {
    const auto result = exprs.divide_exactly(*exprs.parse(a), *exprs.parse(b));
    return result ? exprs.text(*result) : "no";
  };
  EXPECT_EQ(divide("6*s0*h", "2*h"), "3*s0");
  EXPECT_EQ(divide("h*s0+h", "h"), "s0+1");
  EXPECT_EQ(divide("h*h-1", "h+1"), "h-1");
  EXPECT_EQ(divide("5*s0", "2"), "no");
  EXPECT_EQ(divide("s0", "h"), "no");
  EXPECT_EQ(divide("s0", "0"), "no");
}

TEST(Exprs, Bounds) {
  Exprs exprs = with_symbols();
  EXPECT_EQ(exprs.bounds(*exprs.parse("4*s0")), (Bounds{4, 256}));
  EXPECT_EQ(exprs.bounds(*exprs.parse("-s0")), (Bounds{-64, -1}));
  EXPECT_EQ(exprs.bounds(*exprs.parse("s0*h")), (Bounds{3, std::nullopt}));
  EXPECT_EQ(exprs.bounds(*exprs.parse("floordiv(s0+1,2)")), (Bounds{1, 32}));
  EXPECT_EQ(exprs.bounds(*exprs.parse("u0")), (Bounds{}));
}

TEST(Exprs, HintsAndSymbols) {
  Exprs exprs = with_symbols();
  EXPECT_EQ(exprs.hint(*exprs.parse("4*s0+h")), 29);
  EXPECT_EQ(exprs.hint(*exprs.parse("u0")), std::nullopt);
  EXPECT_EQ(exprs.hint(exprs.multiply(2, exprs.opaque("Foo(x)", 5))), 10);
  EXPECT_EQ(exprs.symbols_in(*exprs.parse("max(h,4*s0)")), (std::vector<std::string>{"h", "s0"}));
}

// Random expressions: the normal form has the value of what was written, and reads back to itself.
TEST(Exprs, NormalFormKeepsTheValue) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Exprs exprs;
    exprs.declare({"a", 1, 50, 5});
    exprs.declare({"b", std::nullopt, std::nullopt, 2});
    const SymbolValues values{{"a", static_cast<std::int64_t>(random() % 50 + 1)},
                              {"b", static_cast<std::int64_t>(random() % 41) - 20}};
    struct Both {
      Dim dim;
      std::int64_t value;
    };
    std::vector<Both> pool{
        {exprs.symbol("a"), values.at("a")}, {exprs.symbol("b"), values.at("b")}, {3, 3}, {-2, -2}, {1, 1}};
    const auto floor_of = [](std::int64_t x, std::int64_t y) {
      return x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0);
    };
    for (int step = 0; step < 6; ++step) {
      const Both x = pool[random() % pool.size()];
      const Both y = pool[random() % pool.size()];
      switch (random() % 6) {
        case 0:
          pool.push_back({exprs.add(x.dim, y.dim), x.value + y.value});
          break;
        case 1:
          pool.push_back({exprs.subtract(x.dim, y.dim), x.value - y.value});
          break;
        case 2:
          pool.push_back({exprs.multiply(x.dim, y.dim), x.value * y.value});
          break;
        case 3:
          if (y.value != 0) pool.push_back({exprs.floor_divide(x.dim, y.dim), floor_of(x.value, y.value)});
          break;
        case 4:
          pool.push_back({exprs.max(x.dim, y.dim), std::max(x.value, y.value)});
          break;
        default:
          pool.push_back({exprs.min(x.dim, y.dim), std::min(x.value, y.value)});
          break;
      }
      if (std::abs(pool.back().value) > 1'000'000) break;
    }
    for (const Both& both : pool) {
      const auto value = exprs.evaluate(both.dim, values);
      ASSERT_TRUE(value.has_value()) << exprs.text(both.dim) << ": " << value.error().message;
      ASSERT_EQ(*value, both.value) << exprs.text(both.dim);
      const auto again = exprs.parse(exprs.text(both.dim));
      ASSERT_TRUE(again.has_value()) << exprs.text(both.dim) << ": " << again.error().message;
      ASSERT_EQ(exprs.text(*again), exprs.text(both.dim));
      const Bounds bounds = exprs.bounds(both.dim);
      ASSERT_LE(bounds.min.value_or(both.value), both.value) << exprs.text(both.dim);
      ASSERT_GE(bounds.max.value_or(both.value), both.value) << exprs.text(both.dim);
    }
  }
}

}  // namespace
}  // namespace isthmus::exprs_test
