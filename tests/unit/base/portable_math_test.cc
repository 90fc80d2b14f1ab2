// Functions that must not depend on the CPU: close to the C library's, and bit for bit what they were when this was
// written.
#include "base/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

namespace isthmus::portable_math_test {
namespace {

struct Function {
  const char* name;
  double (*ours)(double);
  double (*theirs)(double);
  double min, max;  // arguments
};
void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }

#define ISTHMUS_FUNCTION(name, min, max)                                   \
  Function {                                                               \
#name, portable::name, [](double x) { return std::name(x); }, min, max \
  }
const Function kFunctions[] = {
    ISTHMUS_FUNCTION(exp, -750, 715), ISTHMUS_FUNCTION(exp2, -1080, 1030), ISTHMUS_FUNCTION(expm1, -3, 3),
    ISTHMUS_FUNCTION(log, 0, 100),    ISTHMUS_FUNCTION(log2, 0, 100),      ISTHMUS_FUNCTION(log10, 0, 100),
    ISTHMUS_FUNCTION(log1p, -1, 10),  ISTHMUS_FUNCTION(sin, -1e7, 1e7),    ISTHMUS_FUNCTION(cos, -1e7, 1e7),
    ISTHMUS_FUNCTION(tan, -1e7, 1e7), ISTHMUS_FUNCTION(asin, -1, 1),       ISTHMUS_FUNCTION(acos, -1, 1),
    ISTHMUS_FUNCTION(atan, -10, 10),  ISTHMUS_FUNCTION(sinh, -720, 720),   ISTHMUS_FUNCTION(cosh, -720, 720),
    ISTHMUS_FUNCTION(tanh, -5, 5),    ISTHMUS_FUNCTION(asinh, -100, 100),  ISTHMUS_FUNCTION(acosh, 1, 100),
    ISTHMUS_FUNCTION(atanh, -1, 1),   ISTHMUS_FUNCTION(erf, -7, 7),        ISTHMUS_FUNCTION(erfc, -7, 28),
};
#undef ISTHMUS_FUNCTION

const double kSpecial[] = {0.0,
                           -0.0,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           2,
                           1e-20,
                           -1e-20,
                           1e-310,
                           1e300,
                           -1e300,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()};

bool is_close(double ours, double theirs, double units) {
  if (std::isnan(theirs)) return std::isnan(ours);
  if (ours == theirs) return std::signbit(ours) == std::signbit(theirs);
  if (!std::isfinite(ours) || !std::isfinite(theirs)) return false;
  constexpr double kMin = std::numeric_limits<double>::min();
  return std::abs(ours - theirs) <= units * std::numeric_limits<double>::epsilon() * std::max(std::abs(theirs), kMin);
}

class PortableMath : public testing::TestWithParam<Function> {};

TEST_P(PortableMath, IsCloseToTheLibrarys) {
  const Function& function = GetParam();
  // erfc is 1 - erf where that is small but not tiny.
  const double units = function.ours == static_cast<double (*)(double)>(portable::erfc) ? 2000 : 16;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> numbers(function.min, function.max);
  for (int i = 0; i < 20000; ++i) {
    const double x = numbers(random);
    ASSERT_TRUE(is_close(function.ours(x), function.theirs(x), units))
        << x << ": " << function.ours(x) << " " << function.theirs(x);
    const double small = x * 0x1p-30;
    if (small >= function.min) {
      ASSERT_TRUE(is_close(function.ours(small), function.theirs(small), units)) << small;
    }
  }
  for (const double x : kSpecial) {
    EXPECT_TRUE(is_close(function.ours(x), function.theirs(x), units))
        << x << ": " << function.ours(x) << " " << function.theirs(x);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PortableMath, testing::ValuesIn(kFunctions),
                         [](const testing::TestParamInfo<Function>& tested) { return tested.param.name; });

TEST(PortablePairs, AreCloseToTheLibrarys) {
  std::vector<double> numbers(std::begin(kSpecial), std::end(kSpecial));
  std::mt19937 random(2);
  std::uniform_real_distribution<double> more(-10, 10);
  for (int i = 0; i < 100; ++i) numbers.push_back(more(random));
  for (int i = -4; i <= 4; ++i) numbers.push_back(i);
  for (const double a : numbers) {
    for (const double b : numbers) {
      EXPECT_TRUE(is_close(portable::pow(a, b), std::pow(a, b), 1000)) << a << " ^ " << b;
      EXPECT_TRUE(is_close(portable::atan2(a, b), std::atan2(a, b), 16)) << a << ", " << b;
      EXPECT_TRUE(is_close(portable::hypot(a, b), std::hypot(a, b), 16)) << a << ", " << b;
    }
  }
}

// Any CPU, any compiler and any C library must give these very bits.
TEST(PortableBits, AreTheSameEverywhere) {
  std::uint64_t hash = 1469598103934665603U;
  for (const Function& function : kFunctions) {
    for (int i = 0; i <= 1000; ++i) {
      const double x = function.min + (function.max - function.min) * i / 1000;
      const double y = function.ours(x);
      if (!std::isnan(y)) hash = (hash ^ std::bit_cast<std::uint64_t>(y)) * 1099511628211U;
    }
  }
  EXPECT_EQ(hash, 7086684851677341819U);
}

}  // namespace
}  // namespace isthmus::portable_math_test
