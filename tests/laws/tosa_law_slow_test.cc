// The fast TOSA kernels against the plain ones, bit for bit, on random graphs: many seeds.
#include <gtest/gtest.h>

#include "support/tosa_laws.h"

namespace isthmus::tosa_law_slow_test {
namespace {

class ManyTosaLaws : public testing::TestWithParam<test::TosaLaw> {};

TEST_P(ManyTosaLaws, FastKernelsGiveTheBitsOfPlainOnes) {
  for (unsigned seed = 4; seed < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    GetParam().check(seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ManyTosaLaws, testing::ValuesIn(test::tosa_laws().begin(), test::tosa_laws().end()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace isthmus::tosa_law_slow_test
