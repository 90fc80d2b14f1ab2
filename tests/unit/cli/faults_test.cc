// What the system refuses, in turn: the old output or the new one, whole; no temporary files; exit code 1 and a
// message.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/command_line.h"
#include "support/files.h"

namespace isthmus::faults_test {
namespace {

using test::contents;
using test::Finished;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kModel = "tests/models/torch26/linear.pt2";

class Faults : public test::CommandLine {
 protected:
  void SetUp() override {
    if (!can_have_faults()) GTEST_SKIP() << "the sanitizers have their own malloc";
    CommandLine::SetUp();
    out_ = folder_ / "made";
    fs::create_directory(out_);
    ASSERT_EQ(isthmus(arguments()).code, 0);
    new_ = contents(file());
    ASSERT_FALSE(new_.empty());
  }

  fs::path file() const { return out_ / "model.pte"; }
  std::string arguments() const {
    return fmt::format("compile {} --target xnnpack --float -q -o {}", kModel, file().string());
  }
  void write_old() const { std::ofstream(file(), std::ios::binary) << "old"; }

  // How often a call is made where nothing fails.
  std::size_t count_of(const std::string& call) const {
    const fs::path counts = folder_ / "counts";
    write_old();
    EXPECT_EQ(with_fault("", arguments(), counts.string()).code, 0);
    std::ifstream lines(counts);
    std::string name;
    std::size_t number = 0;
    while (lines >> name >> number) {
      if (name == call) return number;
    }
    return 0;
  }

  // The output and all beside it, after a process that ended with an error or was killed.
  void expect_old_or_new(const std::string& fault, bool may_leave = false) const {
    const std::string found = contents(file());
    EXPECT_TRUE(found == "old" || found == new_) << fault << ": " << found.size() << " bytes";
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(out_)) names.insert(entry.path().filename().string());
    names.erase("model.pte");
    if (!may_leave) {
      EXPECT_THAT(names, testing::IsEmpty()) << fault;
    }
    for (const std::string& name : names) fs::remove(out_ / name);
  }
  // Tries all of them, or as many as are given.
  void expect_failures(const std::string& call, const std::string& what, std::size_t tries = 1000) const {
    const std::size_t count = count_of(call);
    ASSERT_GT(count, 0u) << call;
    const std::size_t step = std::max<std::size_t>(count / tries, 1);
    std::size_t failed = 0;
    for (std::size_t i = 1; i <= count; i += step) {
      const std::string fault = fmt::format("{}:{}:{}", call, i, what);
      write_old();
      const Finished done = with_fault(fault, arguments());
      ASSERT_TRUE(done.code == 0 || done.code == 1) << fault << ": " << done.code << "\n" << done.err;
      expect_old_or_new(fault);
      if (done.code == 0) {
        EXPECT_EQ(contents(file()), new_) << fault;
        continue;
      }
      ++failed;
      EXPECT_THAT(done.err, HasSubstr("error: ")) << fault;
    }
    EXPECT_GT(failed, 0u) << call;
  }

  fs::path out_;
  std::string new_;
};

TEST_F(Faults, EveryOpenFails) { expect_failures("open", "fail"); }
TEST_F(Faults, EveryMmapFails) { expect_failures("mmap", "fail"); }
TEST_F(Faults, EveryWriteFails) { expect_failures("write", "fail"); }
TEST_F(Faults, EveryFsyncFails) { expect_failures("fsync", "fail"); }
TEST_F(Faults, EveryLinkFails) { expect_failures("link", "fail"); }
TEST_F(Faults, EveryRenameFails) { expect_failures("rename", "fail"); }
TEST_F(Faults, MemoryEndsAtManyPoints) { expect_failures("alloc", "fail-on", 25); }
TEST_F(Faults, SomeMemoryIsNotGiven) { expect_failures("alloc", "fail", 25); }

TEST_F(Faults, ASignalLeavesNothing) {
  for (const std::string call : {"write", "fsync", "link", "rename"}) {
    const std::size_t count = count_of(call);
    for (std::size_t i = 1; i <= count; ++i) {
      const std::string fault = fmt::format("{}:{}:terminate", call, i);
      write_old();
      EXPECT_EQ(with_fault(fault, arguments()).code, 128 + 15) << fault;
      expect_old_or_new(fault);
    }
  }
}

// Between the link and the rename it has a name already.
TEST_F(Faults, KilledInTheMiddleTheOldFileStays) {
  for (const std::string call : {"open", "write", "fsync", "link", "rename"}) {
    const std::size_t count = count_of(call);
    for (std::size_t i = 1; i <= count; ++i) {
      const std::string fault = fmt::format("{}:{}:kill", call, i);
      write_old();
      EXPECT_EQ(with_fault(fault, arguments()).code, 128 + 9) << fault;
      expect_old_or_new(fault, call == "rename");
    }
  }
}

TEST_F(Faults, TwoProcessesWithOneOutput) {
  write_old();
  const Finished both = run(fmt::format("( {0} & {0}; wait )", command(arguments())));
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_EQ(contents(file()), new_);
  expect_old_or_new("two processes");
}

TEST_F(Faults, AFileThatShrinksWhileItIsReadIsAnError) {
  fs::copy_file(kModel, folder_ / "model.pt2");
  const std::string model = (folder_ / "model.pt2").string();
  const Finished done = with_fault("mmap:1:truncate", "inspect " + model);
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.err,
            "error: cannot read " + model + ": another process made it shorter, or its device failed; try it again\n");
  EXPECT_EQ(done.out, "");
  fs::copy_file(kModel, folder_ / "model.pt2", fs::copy_options::overwrite_existing);
  const Finished json = with_fault("mmap:1:truncate", "inspect --json " + model);
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.out, HasSubstr("\"message\":\"cannot read " + model));
}

}  // namespace
}  // namespace isthmus::faults_test
