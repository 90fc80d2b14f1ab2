// Random graphs in TOSA against the integer interpreter, bit for bit: a few seeds.
#include <gtest/gtest.h>

#include "support/device_laws.h"

namespace isthmus::device_law_test {
namespace {

TEST(DeviceLaws, LoweredGraphsGiveTheBitsOfTheIntegerInterpreter) {
  test::OperatorCounts counts;
  for (unsigned seed = 0; seed < 60 && !HasFailure(); ++seed) {
    EXPECT_EQ(test::broken_device_law(seed, counts), "") << "seed " << seed;
  }
  EXPECT_GT(counts.size(), 30U);
}

}  // namespace
}  // namespace isthmus::device_law_test
