// Feeds the seeds and findings of every fuzz target to it once, where libFuzzer is not there to do it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/models.h"

extern "C" {
#define TARGET(name) int fuzz_##name(const std::uint8_t* data, std::size_t size);
ISTHMUS_FUZZ_TARGETS
#undef TARGET
}

namespace isthmus::test::replay_test {
namespace {

struct Target {
  std::string name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

std::vector<Target> targets() {
#define TARGET(name) {#name, fuzz_##name},
  return {ISTHMUS_FUZZ_TARGETS};
#undef TARGET
}

class FuzzTarget : public testing::TestWithParam<Target> {};

TEST_P(FuzzTarget, ReplaysSeedsAndFindings) {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"seeds", "findings"}) {
    const auto path = source_dir() / "tests" / "fuzz" / GetParam().name / folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  EXPECT_FALSE(files.empty()) << "a target starts from seeds";

  const std::uint8_t nothing = 0;
  GetParam().run(&nothing, 0);
  for (const auto& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // so that after a crash the last line names the file
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    GetParam().run(bytes.data(), bytes.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FuzzTarget, testing::ValuesIn(targets()),
                         [](const auto& target) { return target.param.name; });

}  // namespace
}  // namespace isthmus::test::replay_test
