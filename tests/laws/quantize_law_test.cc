// The laws of quantizing, on random graphs.
#include <gtest/gtest.h>

#include "support/quantize_laws.h"

namespace isthmus::quantize_law_test {
namespace {

TEST(QuantizeLaws, PlansOfGraphsWithWildRanges) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    EXPECT_EQ(test::broken_plan_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

TEST(QuantizeLaws, QuantizedGraphsCompute) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    EXPECT_EQ(test::broken_compute_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

TEST(QuantizeLaws, ParametersOfAnArchiveAreThePlans) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    EXPECT_EQ(test::broken_pin_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

TEST(QuantizeLaws, SomeParametersInAnArchive) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    EXPECT_EQ(test::broken_partial_pin_law(seed), "") << "seed " << seed;
    if (HasFailure()) break;
  }
}

// The laws above say something only where there are cuts, kept ties, quantized values and floats.
TEST(QuantizeLaws, RandomGraphsHaveSomethingToDecide) {
  test::Decided decided;
  for (unsigned seed = 0; seed < 50; ++seed) test::count_decisions(seed, decided);
  EXPECT_GT(decided.cuts, 40U);
  EXPECT_GT(decided.kept_ties, 200U);
  EXPECT_GT(decided.quantized_nodes, 300U);
  EXPECT_GT(decided.nodes_in_float, 20U);
}

}  // namespace
}  // namespace isthmus::quantize_law_test
