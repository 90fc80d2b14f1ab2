// check and compile as a user meets them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command_line.h"
#include "support/files.h"
#include "support/models.h"

namespace isthmus::cli_compile_test {
namespace {

using Cli = test::CommandLine;
using test::contents;
using test::Finished;
using Json = nlohmann::json;

const std::string kModel = "tests/models/emg_cascade.pt2";
const std::string kTarget = " --target xnnpack";

TEST_F(Cli, CheckSaysOneDelegate) {
  const Finished done = isthmus("check " + kModel + kTarget + " --max-delegates 1 --json");
  EXPECT_EQ(done.code, 0) << done.err;
  const Json json = Json::parse(done.out);
  EXPECT_EQ(json["target"], "xnnpack");
  EXPECT_EQ(json["delegates"], 1);
  EXPECT_EQ(json["delegated_nodes"], json["nodes"]);
  EXPECT_EQ(json["host"], Json::array());
}

TEST_F(Cli, CheckCountsDelegates) {
  const Finished done = isthmus("check " + kModel + kTarget + " --max-delegates 0");
  EXPECT_EQ(done.code, 3);
}

TEST_F(Cli, CompileWritesWhatRunComputes) {
  const std::string out = (folder_ / "model.pte").string();
  const Finished done = isthmus("compile " + kModel + kTarget + " --float --json -o " + out);
  ASSERT_EQ(done.code, 0) << done.err;
  const Json json = Json::parse(done.out);
  EXPECT_EQ(json["output"], out);
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(out));
  EXPECT_LE(json["least_memory_bytes"], json["memory_bytes"]);
  EXPECT_GT(json["seconds"]["lower"], 0);
  const Finished ran =
      isthmus("run " + out +
              " --input tests/models/emg_cascade_input_0.npy --input tests/models/emg_cascade_input_1.npy --json -o " +
              (folder_ / "outputs").string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["delegate_calls"], 1);
  EXPECT_EQ(Json::parse(ran.out)["host_calls"], 0);
  const Tensor found = test::read_tensor(folder_ / "outputs" / "output_1.npy");
  const Tensor expected = test::read_tensor(test::source_dir() / "tests/models/emg_cascade_output_1.npy");
  const test::Difference gap = test::difference(found, expected);
  EXPECT_LE(gap.max, 1e-4 * gap.range) << gap.why;
}

TEST_F(Cli, AnExistingFileSurvivesAFailure) {
  const std::filesystem::path out = folder_ / "model.pte";
  std::ofstream(out) << "precious";
  const Finished done = isthmus("compile tests/models/README.md" + kTarget + " --float -o " + out.string());
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.err.find("tests/models/README.md"), std::string::npos) << done.err;
  EXPECT_EQ(contents(out), "precious");
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name == "model.pte" || !name.starts_with("model.pte")) << name << " is left behind";
  }
}

TEST_F(Cli, TooManyDelegatesWriteNothing) {
  const std::filesystem::path out = folder_ / "model.pte";
  const Finished done = isthmus("compile " + kModel + kTarget + " --float --max-delegates 0 -o " + out.string());
  EXPECT_EQ(done.code, 3);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Cli, WrongUsageOfCompile) {
  EXPECT_EQ(isthmus("compile " + kModel + " --float -o x.pte").code, 2) << "no target";
  EXPECT_EQ(isthmus("compile " + kModel + " --target abacus --float -o x.pte").code, 2);
  EXPECT_EQ(isthmus("check " + kModel + kTarget + " --batch 0").code, 2);
  const Finished shape = isthmus("check " + kModel + kTarget + " --shape emg=1,eight,200");
  EXPECT_EQ(shape.code, 1);
  EXPECT_NE(shape.err.find("NAME=1,3,224,224"), std::string::npos) << shape.err;
}

TEST_F(Cli, TheGraphShowsWhereNodesRun) {
  const Finished done = isthmus("check " + kModel + kTarget + " --to partition");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("|xnnpack:0"), std::string::npos) << done.out;
}

TEST_F(Cli, TargetsAreListed) {
  EXPECT_NE(isthmus("targets").out.find("xnnpack"), std::string::npos);
  const Json json = Json::parse(isthmus("targets xnnpack --json").out);
  EXPECT_GT(json["ops"].size(), 30u);
  EXPECT_GT(json["rules"].size(), 10u);
}

}  // namespace
}  // namespace isthmus::cli_compile_test
