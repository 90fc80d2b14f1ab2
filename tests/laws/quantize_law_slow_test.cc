// The laws of quantizing, on thousands of random graphs.
#include <gtest/gtest.h>

#include "support/quantize_laws.h"

namespace isthmus::quantize_law_slow_test {
namespace {

constexpr unsigned kFirst = 1000;
constexpr unsigned kLast = 3000;

TEST(QuantizeLawsSlow, PlansOfGraphsWithWildRanges) {
  for (unsigned seed = kFirst; seed < kLast; ++seed) {
    EXPECT_EQ(test::broken_plan_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

TEST(QuantizeLawsSlow, QuantizedGraphsCompute) {
  for (unsigned seed = kFirst; seed < kLast; ++seed) {
    EXPECT_EQ(test::broken_compute_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

TEST(QuantizeLawsSlow, ParametersOfAnArchiveAreThePlans) {
  for (unsigned seed = kFirst; seed < kLast; ++seed) {
    EXPECT_EQ(test::broken_pin_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

// Each for four targets, twice.
TEST(QuantizeLawsSlow, SomeParametersInAnArchive) {
  for (unsigned seed = kFirst; seed < kFirst + 800; ++seed) {
    EXPECT_EQ(test::broken_partial_pin_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace isthmus::quantize_law_slow_test
