// Recorded cases of single TOSA operators, bit for bit: a few of each. All of them are in tosa_vectors_slow_test.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/models.h"
#include "support/tosa.h"

namespace isthmus::tosa_vectors_test {
namespace {

const std::filesystem::path kFolder = test::source_dir() / "tests" / "models" / "tosa";

std::vector<std::string> operators() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

class TosaVector : public testing::TestWithParam<std::string> {};

TEST_P(TosaVector, BitForBit) {
  static const test::Files files = test::files_of_folder(kFolder);
  const auto cases = test::cases_in(files, GetParam() + "/");
  EXPECT_FALSE(cases.empty());
  for (const std::string& folder : cases) EXPECT_EQ(test::check_recorded_case(files, folder), "") << folder;
}

INSTANTIATE_TEST_SUITE_P(Every, TosaVector, testing::ValuesIn(operators()), [](const auto& row) { return row.param; });

}  // namespace
}  // namespace isthmus::tosa_vectors_test
