// Random graphs in TOSA against the integer interpreter, bit for bit: thousands of seeds.
#include <gtest/gtest.h>

#include <iostream>

#include "support/device_laws.h"

namespace isthmus::device_law_slow_test {
namespace {

TEST(DeviceLawsSlow, LoweredGraphsGiveTheBitsOfTheIntegerInterpreter) {
  test::OperatorCounts counts;
  for (unsigned seed = 1000; seed < 3000 && !HasFailure(); ++seed) {
    EXPECT_EQ(test::broken_device_law(seed, counts), "") << "seed " << seed;
  }
  for (const auto& [op, count] : counts) std::cout << "  " << count << " " << op << "\n";
  EXPECT_EQ(test::operators_not_seen(counts), "");
}

}  // namespace
}  // namespace isthmus::device_law_slow_test
