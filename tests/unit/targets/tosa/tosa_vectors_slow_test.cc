// All recorded cases of single TOSA operators, bit for bit. Needs the wider data.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/models.h"
#include "support/tosa.h"

namespace isthmus::tosa_vectors_slow_test {
namespace {

const std::filesystem::path kArchive = test::shared_dir() / "tosa-vectors" / "vectors.tar.gz";

const test::Files& files() {
  static const test::Files all = test::files_of_archive(kArchive);
  return all;
}

// The operators of which the project itself has some cases: all that were recorded.
std::vector<std::string> operators() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "tests" / "models" / "tosa")) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

class AllTosaVectors : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kArchive)) GTEST_SKIP() << "no " << kArchive;
  }
};

TEST_P(AllTosaVectors, BitForBit) {
  const auto cases = test::cases_in(files(), "vectors/" + GetParam() + "/");
  EXPECT_FALSE(cases.empty());
  for (const std::string& folder : cases) EXPECT_EQ(test::check_recorded_case(files(), folder), "") << folder;
}

INSTANTIATE_TEST_SUITE_P(Every, AllTosaVectors, testing::ValuesIn(operators()),
                         [](const auto& row) { return row.param; });

TEST(AllTosaVectors, NoneIsLeftOut) {
  if (!std::filesystem::exists(kArchive)) GTEST_SKIP() << "no " << kArchive;
  std::size_t count = 0;
  for (const std::string& name : operators()) count += test::cases_in(files(), "vectors/" + name + "/").size();
  EXPECT_EQ(count, test::cases_in(files(), "").size());
  EXPECT_EQ(count, 808u);
}

}  // namespace
}  // namespace isthmus::tosa_vectors_slow_test
