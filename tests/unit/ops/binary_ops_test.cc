// Arithmetic, comparisons and logic: one canonical form for all names, PyTorch's promotion and its corner cases.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/spellings.h"

namespace isthmus::binary_ops_test {
namespace {

using test::form_of;
using test::is_refused;
using test::run;
using test::same_form;
using Numbers = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(BinaryOps, NamesOfOneComputation) {
  EXPECT_TRUE(
      same_form("%x : f32[2], %z : f32[2]", "f32[2]",
                {R"("aten.sub.Tensor", self=%x, other=%z)", R"("aten.subtract.Tensor", self=%x, other=%z)",
                 R"("aten.rsub.Tensor", self=%z, other=%x)", R"("aten.sub.Tensor", self=%x, other=%z, alpha=1)"}));
  EXPECT_TRUE(same_form("%x : f32[2]", "f32[2]",
                        {R"("aten.mul.Tensor", self=%x, other=2)", R"("aten.mul.Scalar", self=%x, other=2.0)",
                         R"("aten.multiply.Tensor", self=%x, other=2.0)"}));
  EXPECT_TRUE(same_form("%x : f32[2], %z : f32[2]", "f32[2]",
                        {R"("aten.div.Tensor", self=%x, other=%z)", R"("aten.true_divide.Tensor", self=%x, other=%z)",
                         R"("aten.divide.Tensor", self=%x, other=%z)",
                         R"("aten.div.Tensor_mode", self=%x, other=%z, rounding_mode=none)"}));
  EXPECT_TRUE(same_form("%x : f32[2], %z : f32[2]", "f32[2]",
                        {R"("aten.floor_divide.default", self=%x, other=%z)",
                         R"("aten.div.Tensor_mode", self=%x, other=%z, rounding_mode="floor")"}));
  EXPECT_TRUE(same_form(
      "%x : f32[2]", "f32[2]",
      {R"("aten.mul.Tensor", self=%x, other=%x)", R"("aten.square.default", self=%x)",
       R"("aten.pow.Tensor_Scalar", self=%x, exponent=2)", R"("aten.pow.Tensor_Scalar", self=%x, exponent=2.0)"}));
  EXPECT_TRUE(same_form("%x : f32[2]", "f32[2]",
                        {R"("aten.sqrt.default", self=%x)", R"("aten.pow.Tensor_Scalar", self=%x, exponent=0.5)"}));
  EXPECT_TRUE(same_form("%x : f32[2], %z : f32[2]", "f32[2]",
                        {R"("aten.maximum.default", self=%x, other=%z)", R"("aten.max.other", self=%x, other=%z)"}));
  EXPECT_TRUE(same_form("%x : f32[2]", "bool[2]",
                        {R"("aten.gt.Scalar", self=%x, other=1)", R"("aten.greater.Scalar", self=%x, other=1.0)"}));
  EXPECT_TRUE(
      same_form("%x : bool[2], %z : bool[2]", "bool[2]",
                {R"("aten.__and__.Tensor", self=%x, other=%z)", R"("aten.bitwise_and.Tensor", self=%x, other=%z)",
                 R"("aten.logical_and.default", self=%x, other=%z)"}));
}

TEST(BinaryOps, PromotionOfTypes) {
  const std::string add = R"("aten.add.Tensor", self=%x, other=%z)";
  // Integers and floats; 0-d tensors count by category only; a 0-d tensor of a higher category brings its own type.
  EXPECT_FALSE(is_refused("%x : i64[2], %z : f32[2]", "f32[2]", add));
  EXPECT_FALSE(is_refused("%x : f16[2], %z : f32[]", "f16[2]", add));
  EXPECT_FALSE(is_refused("%x : i64[2], %z : f64[]", "f64[2]", add));
  EXPECT_FALSE(is_refused("%x : u8[2], %z : i64[]", "u8[2]", add));
  EXPECT_FALSE(is_refused("%x : u8[2], %z : i8[2]", "i16[2]", add));
  EXPECT_FALSE(is_refused("%x : bool[2], %z : bool[2]", "bool[2]", add));
  const std::string scalar = R"("aten.mul.Tensor", self=%x, other=2.5)";
  EXPECT_FALSE(is_refused("%x : i32[2]", "f32[2]", scalar));
  EXPECT_FALSE(is_refused("%x : f64[2]", "f64[2]", scalar));
  EXPECT_FALSE(is_refused("%x : f64[]", "f64[]", scalar));
  EXPECT_FALSE(is_refused("%x : bool[2]", "i64[2]", R"("aten.mul.Tensor", self=%x, other=2)"));
  EXPECT_FALSE(is_refused("%x : i32[2]", "f32[2]", R"("aten.div.Tensor", self=%x, other=2)"));
  EXPECT_FALSE(is_refused("%x : i32[2]", "i32[2]", R"("aten.floor_divide.default", self=%x, other=2)"));
  EXPECT_FALSE(is_refused("%x : i32[2]", "f64[2]", R"("aten.float_power.Tensor_Scalar", self=%x, exponent=2)"));
  EXPECT_TRUE(is_refused("%x : c64[2]", "c64[2]", scalar));
  EXPECT_TRUE(is_refused("%x : f8e5m2[2]", "f8e5m2[2]", scalar));
  EXPECT_TRUE(is_refused("%x : bool[2], %z : bool[2]", "bool[2]", R"("aten.sub.Tensor", self=%x, other=%z)"));
}

TEST(BinaryOps, BroadcastingWithSymbols) {
  EXPECT_EQ(form_of("symbol s0 in [1,8] ~3\n  input %x : f32[s0,1,4]\n  input %z : f32[3,1]", "f32[s0,3,4]",
                    R"("aten.add.Tensor", self=%x, other=%z)"),
            "%2 = add(%0, %1) : f32[s0,3,4]\nreturn %2\n");
  EXPECT_TRUE(is_refused("%x : f32[2,3], %z : f32[2]", "f32[2,3]", R"("aten.add.Tensor", self=%x, other=%z)"));
  EXPECT_EQ(
      run("%x : f32[2,1], %z : f32[3]", "f32[2,3]", R"("aten.sub.Tensor", self=%x, other=%z)", {{1, 2}, {10, 20, 30}}),
      (Numbers{-9, -19, -29, -8, -18, -28}));
  EXPECT_EQ(run("%x : f32[2,2,2], %z : f32[2,1]", "f32[2,2,2]", R"("aten.mul.Tensor", self=%x, other=%z)",
                {{1, 2, 3, 4, 5, 6, 7, 8}, {1, 10}}),
            (Numbers{1, 2, 30, 40, 5, 6, 70, 80}));
  EXPECT_EQ(run("%x : f32[], %z : f32[]", "f32[]", R"("aten.add.Tensor", self=%x, other=%z, alpha=3)", {{1}, {2}}),
            (Numbers{7}));
  EXPECT_EQ(run("%x : f32[0,3], %z : f32[3]", "f32[0,3]", R"("aten.add.Tensor", self=%x, other=%z)", {{}, {1, 2, 3}}),
            Numbers{});
}

// Equal at export time by a rule that the archive does not tell.
TEST(BinaryOps, SizesThatWereEqual) {
  EXPECT_EQ(form_of("symbol s0 in [1,8] ~3\n  input %x : f32[s0,4]\n  input %z : f32[3,4]", "f32[3,4]",
                    R"("aten.add.Tensor", self=%x, other=%z)"),
            "%2 = add(%0, %1) : f32[3,4]\nreturn %2\n");
  EXPECT_TRUE(is_refused("symbol s0 in [1,8] ~2\n  input %x : f32[s0,4]\n  input %z : f32[3,4]", "f32[3,4]",
                         R"("aten.add.Tensor", self=%x, other=%z)"));
}

// A number is not rounded to half precision before it is used; where it is exact there, nothing is cast.
TEST(BinaryOps, NumbersBesideHalves) {
  EXPECT_NE(form_of("%x : bf16[2]", "bf16[2]", R"("aten.mul.Tensor", self=%x, other=0.1)").find("f32[2]"),
            std::string::npos);
  EXPECT_EQ(form_of("%x : bf16[2]", "bf16[2]", R"("aten.mul.Tensor", self=%x, other=0.5)").find("f32[2]"),
            std::string::npos);
  EXPECT_FALSE(is_refused("%x : f16[2]", "f16[2]", R"("aten.rsub.Scalar", self=%x, other=0.1, alpha=3)"));
}

TEST(BinaryOps, DivisionOfIntegers) {
  const std::string inputs = "%x : i64[4], %z : i64[4]";
  const std::vector<Numbers> elements{{7, -7, 7, -7}, {2, 2, -2, -2}};
  EXPECT_EQ(run(inputs, "i64[4]", R"("aten.floor_divide.default", self=%x, other=%z)", elements),
            (Numbers{3, -4, -4, 3}));
  EXPECT_EQ(run(inputs, "i64[4]", R"("aten.div.Tensor_mode", self=%x, other=%z, rounding_mode="trunc")", elements),
            (Numbers{3, -3, -3, 3}));
  EXPECT_EQ(run(inputs, "i64[4]", R"("aten.remainder.Tensor", self=%x, other=%z)", elements), (Numbers{1, 1, -1, -1}));
  EXPECT_EQ(run(inputs, "i64[4]", R"("aten.fmod.Tensor", self=%x, other=%z)", elements), (Numbers{1, -1, 1, -1}));
  EXPECT_EQ(run(inputs, "f32[4]", R"("aten.div.Tensor", self=%x, other=%z)", elements),
            (Numbers{3.5, -3.5, -3.5, 3.5}));
  EXPECT_EQ(run("%x : i8[1]", "i8[1]", R"("aten.floor_divide.default", self=%x, other=-1)", {{-128}}), (Numbers{-128}));
  EXPECT_EQ(run("%x : i8[2]", "i8[2]", R"("aten.add.Tensor", self=%x, other=100)", {{100, -100}}), (Numbers{-56, 0}));
  EXPECT_EQ(run("%x : i64[3]", "i64[3]", R"("aten.pow.Tensor_Scalar", self=%x, exponent=5)", {{-2, 0, 3}}),
            (Numbers{-32, 0, 243}));
}

TEST(BinaryOps, DivisionOfFloats) {
  EXPECT_EQ(run("%x : f32[4], %z : f32[4]", "f32[4]", R"("aten.floor_divide.default", self=%x, other=%z)",
                {{7, -7, 1, 0}, {2, 2, 0, 5}}),
            (Numbers{3, -4, kInfinity, 0}));
  EXPECT_EQ(run("%x : f32[2], %z : f32[2]", "f32[2]", R"("aten.remainder.Tensor", self=%x, other=%z)",
                {{-7.5, 7.5}, {2, -2}}),
            (Numbers{0.5, -0.5}));
}

TEST(BinaryOps, NanWinsOrLoses) {
  const std::string inputs = "%x : f32[2], %z : f32[2]";
  const std::vector<Numbers> elements{{kNan, 1}, {1, kNan}};
  for (const double number : run(inputs, "f32[2]", R"("aten.maximum.default", self=%x, other=%z)", elements)) {
    EXPECT_TRUE(std::isnan(number));
  }
  EXPECT_EQ(run(inputs, "f32[2]", R"("aten.fmax.default", self=%x, other=%z)", elements), (Numbers{1, 1}));
  EXPECT_EQ(run(inputs, "f32[2]", R"("aten.fmin.default", self=%x, other=%z)", elements), (Numbers{1, 1}));
  EXPECT_EQ(run(inputs, "bool[2]", R"("aten.ne.Tensor", self=%x, other=%z)", elements), (Numbers{1, 1}));
  EXPECT_EQ(run(inputs, "bool[2]", R"("aten.isclose.default", self=%x, other=%z, equal_nan=true)", elements),
            (Numbers{0, 0}));
  EXPECT_EQ(run("%x : f32[4]", "bool[4]", R"("aten.isfinite.default", self=%x)", {{kNan, kInfinity, -kInfinity, 1}}),
            (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(run("%x : f32[3]", "bool[3]", R"("aten.logical_not.default", self=%x)", {{kNan, 0, 2}}),
            (Numbers{0, 1, 0}));
  EXPECT_EQ(run("%x : f32[3], %z : f32[3]", "f32[3]", R"("aten.xlogy.Tensor", self=%x, other=%z)",
                {{0, 0, 1}, {0, kInfinity, 1}}),
            (Numbers{0, 0, 0}));
  EXPECT_EQ(run("%x : f32[2], %z : f32[2]", "f32[2]", R"("aten.logaddexp.default", self=%x, other=%z)",
                {{-kInfinity, kInfinity}, {-kInfinity, kInfinity}}),
            (Numbers{-kInfinity, kInfinity}));
}

TEST(BinaryOps, Bits) {
  const std::string inputs = "%x : i32[4], %z : i32[4]";
  EXPECT_EQ(run(inputs, "i32[4]", R"("aten.__lshift__.Tensor", self=%x, other=%z)", {{1, 1, 1, -1}, {3, 32, -1, 1}}),
            (Numbers{8, 0, 0, -2}));
  EXPECT_EQ(run(inputs, "i32[4]", R"("aten.bitwise_right_shift.Tensor", self=%x, other=%z)",
                {{8, -8, -8, 8}, {1, 1, 40, 40}}),
            (Numbers{4, -4, -1, 0}));
  EXPECT_EQ(run("%x : u8[2]", "u8[2]", R"("aten.bitwise_not.default", self=%x)", {{0, 255}}), (Numbers{255, 0}));
  EXPECT_EQ(run("%x : bool[2]", "bool[2]", R"("aten.bitwise_not.default", self=%x)", {{0, 1}}), (Numbers{1, 0}));
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.bitwise_not.default", self=%x)"));
}

TEST(BinaryOps, HostileArguments) {
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.div.Tensor_mode", self=%x, other=2, rounding_mode="up")"));
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.add.Tensor", self=%x, other="two")"));
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.add.Tensor", self=%x)"));
  EXPECT_TRUE(is_refused("%x : i32[2]", "i32[2]", R"("aten.pow.Tensor_Scalar", self=%x, exponent=-1)"));
}

}  // namespace
}  // namespace isthmus::binary_ops_test
