// Killed at any moment, a compilation leaves the old file or the new one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "support/command_line.h"
#include "support/files.h"

namespace isthmus::kill_slow_test {
namespace {

using test::contents;
using Killed = test::CommandLine;
namespace fs = std::filesystem;

TEST_F(Killed, AtRandomMoments) {
  const fs::path out = folder_ / "made";
  fs::create_directory(out);
  const fs::path file = out / "model.pte";
  const std::string compile =
      command("compile tests/models/torch26/linear.pt2 --target xnnpack --float -q -o " + file.string());
  ASSERT_EQ(run("( " + compile + " )").code, 0);
  const std::string whole = contents(file);
  std::minstd_rand random(1);
  std::uniform_int_distribution<int> milliseconds(1, 60);
  std::size_t left = 0;
  for (int i = 0; i < 1000; ++i) {
    std::ofstream(file, std::ios::binary) << "old";
    const int wait = milliseconds(random);
    run(fmt::format("( timeout -s KILL 0.{:03} {} )", wait, compile));
    const std::string found = contents(file);
    ASSERT_TRUE(found == "old" || found == whole) << "killed after " << wait << " ms: " << found.size() << " bytes";
    for (const auto& entry : fs::directory_iterator(out)) {
      if (entry.path() == file) continue;
      ++left;
      ASSERT_EQ(contents(entry.path()), whole) << "what a kill leaves is complete";
      fs::remove(entry.path());
    }
  }
  RecordProperty("left_behind", static_cast<int>(left));
}

}  // namespace
}  // namespace isthmus::kill_slow_test
