// What is not a file, what is too much, and what cannot be said: an error and exit code 1, and nothing left behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/command_line.h"
#include "support/programs.h"

namespace isthmus::cli_hostile_test {
namespace {

using test::Finished;
using testing::HasSubstr;
namespace fs = std::filesystem;

using Hostile = test::CommandLine;

const std::string kModel = "tests/models/torch26/linear.pt2";
const std::string kGraph = "tests/fuzz/tosa/seeds/add.tosa";

TEST_F(Hostile, StandardErrorMayBeClosedOrFull) {
  for (const std::string to : {"2>&-", "2>/dev/full"}) {
    EXPECT_EQ(isthmus("inspect nowhere.pt2 " + to).code, 1) << to;
    EXPECT_EQ(isthmus("inspect --no-such-option " + to).code, 2) << to;
    EXPECT_EQ(isthmus("inspect " + kModel + " " + to).code, 0) << to;
  }
  // Its number must not become that of the output.
  const std::string file = (folder_ / "model.pte").string();
  const std::string compile = "compile " + kModel + " --target xnnpack --float -o ";
  ASSERT_EQ(isthmus(compile + file + " -q").code, 0);
  ASSERT_EQ(isthmus(compile + file + ".2 <&- >&- 2>&- ").code, 1) << "what it prints gets lost";
  ASSERT_EQ(isthmus(compile + file + ".3 -q <&- >&- 2>&- ").code, 0);
  EXPECT_EQ(run("cmp " + file + " " + file + ".3").code, 0);
}

TEST_F(Hostile, FullStandardOutputIsAnError) {
  for (const std::string to : {">&-", ">/dev/full"}) {
    const Finished done = isthmus("inspect " + kModel + " " + to);
    EXPECT_EQ(done.code, 1) << to;
    EXPECT_EQ(done.err, "error: cannot write to standard output\n") << to;
  }
}

TEST_F(Hostile, MemoryThatEndsIsAnError) {
  // Below some limit the system cannot start it at all.
  for (int kilobytes = 20'000; kilobytes <= 200'000; kilobytes += 12'000) {
    const Finished done = run(fmt::format("( ulimit -v {}; {} )", kilobytes, command("inspect " + kGraph)));
    EXPECT_TRUE(done.code == 0 || done.code == 1 || done.code == 127) << kilobytes << ": " << done.code << done.err;
  }
  const std::string large = "run tests/models/emg_cascade.pt2 --max-memory 1M -o " + folder_.string();
  const Finished done = isthmus(large);
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.err, "error: out of memory; --max-memory raises the limit\n");
  const Finished json = isthmus(large + " --json");
  EXPECT_EQ(json.code, 1);
  EXPECT_THAT(json.out, HasSubstr("\"message\":\"out of memory"));
}

TEST_F(Hostile, AHugeConfigurationIsRefusedUnread) {
  const std::string config = (folder_ / "huge.toml").string();
  fs::resize_file((std::ofstream(config), config), std::uintmax_t{1} << 33);
  const Finished done = isthmus("check " + kModel + " --target xnnpack --config " + config);
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("huge.toml: larger than "));
}

TEST_F(Hostile, OnlyRegularFilesAreRead) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(run("mkfifo " + pipe).code, 0);
  const auto refusal = [&](const std::string& arguments) {
    const Finished done = run(fmt::format("( timeout 60 {} )", command(arguments)));
    EXPECT_EQ(done.code, 1) << arguments << done.err;
    return done.err;
  };
  EXPECT_EQ(refusal("inspect " + pipe), "error: cannot read " + pipe + ": it is a pipe, not a regular file\n");
  EXPECT_THAT(refusal("check " + kModel + " --target xnnpack --config " + pipe), HasSubstr("it is a pipe"));
  EXPECT_THAT(refusal("run " + kModel + " --input " + pipe + " -o " + folder_.string()), HasSubstr("it is a pipe"));
  EXPECT_THAT(refusal("inspect /dev/zero"), HasSubstr("it is a device"));
  EXPECT_THAT(refusal("inspect " + folder_.string()), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("check " + kModel + " --target xnnpack --config /proc/self/status"),
              HasSubstr("a special file whose content the system generates"));
  EXPECT_EQ(isthmus("inspect /dev/stdin <" + kModel).code, 0) << "a regular file all the same";
  EXPECT_THAT(run("( true | " + command("inspect /dev/stdin") + " )").err, HasSubstr("it is a pipe"));
}

TEST_F(Hostile, ALimitOfFileSizesLeavesNothing) {
  const fs::path out = folder_ / "made";
  fs::create_directory(out);
  const Finished done =
      run(fmt::format("( ulimit -f 1; {}/model.pte )",
                      command("compile " + kModel + " --target xnnpack --float -q -o " + out.string())));
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.err, "error: cannot write " + (out / "model.pte").string() + ": File too large\n");
  EXPECT_TRUE(fs::is_empty(out));
}

// A program of a few hundred bytes that jumps back to its beginning.
TEST_F(Hostile, LimitsAreHeld) {
  test::ProgramBuilder b;
  const auto x = b.input(b.tensor({1}));
  const auto y = b.output(b.tensor({1}));
  const auto alpha = b.value(std::int64_t{1});
  b.call("aten::add.out", {x, x, alpha, y, y});
  b.add(pte::JumpFalseCall{b.value(false), 0});
  const std::string endless = (folder_ / "endless.pte").string();
  const Blob file = b.file();
  std::ofstream(endless, std::ios::binary) << file.text();
  const Finished slow = isthmus("bench " + endless + " --seconds 30 --timeout 1");
  EXPECT_EQ(slow.code, 1);
  EXPECT_EQ(slow.err, "error: not done after 1 seconds; --timeout gives more, 0 as many as it takes\n");
  EXPECT_THAT(isthmus("run " + kModel + " --max-memory much -o " + folder_.string()).err, HasSubstr("--max-memory"));
  const Finished compiled = isthmus("compile tests/models/fmnist/cnn.pt2 --target xnnpack --max-memory 1M -o " +
                                    (folder_ / "m.pte").string());
  EXPECT_EQ(compiled.code, 1);
  EXPECT_EQ(compiled.err, "error: out of memory; --max-memory raises the limit\n");
  EXPECT_EQ(isthmus("run " + kModel + " --timeout 0 --max-memory 4G -q -o " + folder_.string()).code, 0);
}

}  // namespace
}  // namespace isthmus::cli_hostile_test
