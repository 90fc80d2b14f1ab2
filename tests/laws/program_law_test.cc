// Random graphs through XNNPACK against the integer interpreter, bit for bit: a few seeds.
#include <gtest/gtest.h>

#include "support/program_laws.h"

namespace isthmus::program_law_test {
namespace {

TEST(ProgramLaws, DelegatesGiveTheBitsOfTheIntegerInterpreter) {
  for (unsigned seed = 0; seed < 60 && !HasFailure(); ++seed) {
    EXPECT_EQ(test::broken_program_law(seed), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace isthmus::program_law_test
