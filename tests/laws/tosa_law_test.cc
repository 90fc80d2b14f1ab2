// The fast TOSA kernels against the plain ones, bit for bit, on random graphs: a few seeds.
#include <gtest/gtest.h>

#include "support/tosa_laws.h"

namespace isthmus::tosa_law_test {
namespace {

class TosaLaws : public testing::TestWithParam<test::TosaLaw> {};

TEST_P(TosaLaws, FastKernelsGiveTheBitsOfPlainOnes) {
  for (unsigned seed = 0; seed < 4 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    GetParam().check(seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, TosaLaws, testing::ValuesIn(test::tosa_laws().begin(), test::tosa_laws().end()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace isthmus::tosa_law_test
