// The same file on every CPU: statistics and programs of --reproducible, made as on this machine and as on machines
// with AVX2 and with SSE2 alone, where the tests have the library that masks the rest.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/command_line.h"
#include "support/files.h"

namespace isthmus::reproducible_test {
namespace {

using test::contents;
struct Case {
  const char* name;
  const char* model;
  const char* data;  // null: the archive's example
  const char* target;
  const char* options;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

struct Level {
  const char* name;
  const char* tunables;  // what glibc shall not see
};
constexpr Level kLevels[] = {{"avx2", "-AVX512F"}, {"sse2", "-AVX512F,-AVX2,-AVX,-FMA,-SSE4_1"}};

// While it lives, programs that are started see a lower CPU.
class MaskedCpu {
 public:
  MaskedCpu(const Level& level, const std::filesystem::path& library) {
    ::setenv("ISTHMUS_CPU_LEVEL", level.name, 1);
    ::setenv("GLIBC_TUNABLES", fmt::format("glibc.cpu.hwcaps={}", level.tunables).c_str(), 1);
    ::setenv("LD_PRELOAD", library.c_str(), 1);
  }
  MaskedCpu(const MaskedCpu&) = delete;
  MaskedCpu& operator=(const MaskedCpu&) = delete;
  ~MaskedCpu() {
    for (const char* name : {"ISTHMUS_CPU_LEVEL", "GLIBC_TUNABLES", "LD_PRELOAD"}) ::unsetenv(name);
  }
};

class Reproducible : public test::CommandLine, public testing::WithParamInterface<Case> {
 protected:
  // The bytes of the statistics and of the program.
  std::pair<std::string, std::string> made() const {
    const Case& tested = GetParam();
    const std::string data = tested.data == nullptr ? "" : fmt::format("--samples 8 --data {}", tested.data);
    const std::string stats = (folder_ / "a.stats").string();
    const std::string program = (folder_ / "a.pte").string();
    const auto calibrated = isthmus(
        fmt::format("calibrate {} --target {} {} --reproducible -q -o {}", tested.model, tested.target, data, stats));
    EXPECT_EQ(calibrated.code, 0) << calibrated.err;
    const std::string samples = tested.data == nullptr ? "" : fmt::format("--samples 8 --calibrate {}", tested.data);
    const auto compiled = isthmus(fmt::format("compile {} --target {} {} {} --reproducible -q -o {}", tested.model,
                                              tested.target, samples, tested.options, program));
    EXPECT_EQ(compiled.code, 0) << compiled.err;
    return {contents(stats), contents(program)};
  }
};

TEST_P(Reproducible, FilesAreTheSameOnEveryCpu) {
  const std::filesystem::path library =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libmask_cpu.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "the library that masks the CPU is missing";
  const auto native = made();
  ASSERT_FALSE(native.first.empty());
  ASSERT_FALSE(native.second.empty());
  for (const Level& level : kLevels) {
    const MaskedCpu masked(level, library);
    const auto found = made();
    EXPECT_TRUE(found.first == native.first) << "statistics at " << level.name;
    EXPECT_TRUE(found.second == native.second) << "the program at " << level.name;
  }
}

constexpr const char* kImages = "tests/models/fmnist/calib_32.npz";
INSTANTIATE_TEST_SUITE_P(Models, Reproducible,
                         testing::Values(Case{"cnn_cpu", "tests/models/fmnist/cnn.pt2", kImages, "xnnpack", ""},
                                         Case{"cnn_npu", "tests/models/fmnist/cnn.pt2", kImages, "ethos-u55-128",
                                              "--bias-correction sequential"},
                                         Case{"vit_cpu", "tests/models/fmnist/vit.pt2", kImages, "xnnpack",
                                              "--bias-correction sequential --promote 2"},
                                         Case{"vit_npu", "tests/models/fmnist/vit.pt2", kImages, "ethos-u85-256", ""},
                                         Case{"deit_cpu", "tests/models/deit_micro.pt2", nullptr, "xnnpack", ""},
                                         Case{"deit_npu", "tests/models/deit_micro.pt2", nullptr, "ethos-u85-256", ""},
                                         Case{"emg_cpu", "tests/models/emg_cascade.pt2", nullptr, "xnnpack", ""},
                                         Case{"emg_npu", "tests/models/emg_cascade.pt2", nullptr, "ethos-u85-256", ""}),
                         [](const testing::TestParamInfo<Case>& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace isthmus::reproducible_test
