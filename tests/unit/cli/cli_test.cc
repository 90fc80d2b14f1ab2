// The command line as a user meets it: exit codes, JSON, errors, nothing half-written.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::cli_test {
namespace {

using Cli = test::CommandLine;
using test::Finished;

const std::string kModel = "tests/models/emg_cascade.pt2";

TEST_F(Cli, InspectAsJson) {
  const Finished done = isthmus("inspect " + kModel + " --json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.err, "");
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json["kind"], "pt2");
  EXPECT_EQ(json["parameters"], 25008);
  EXPECT_EQ(json["inputs"][0], (nlohmann::json{{"name", "emg"}, {"dtype", "f32"}, {"shape", {1, 8, 200}}}));
  EXPECT_EQ(json["ops"]["aten.concat.default"], 1);
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(kModel));
}

TEST_F(Cli, InspectForAPerson) {
  const Finished done = isthmus("inspect " + kModel);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("25,008 in"), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find('\033'), std::string::npos) << "colours without a terminal";
}

TEST_F(Cli, TheCanonicalGraphHasOneCatAndNoFrontendName) {
  const Finished done = isthmus("inspect " + kModel + " --ir --to canonicalize");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("%concat = cat("), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("aten."), std::string::npos);
}

TEST_F(Cli, ARewriteCanBeSkippedByItsName) {
  const std::string command = "inspect " + kModel + " --ir --to canonicalize";
  const Finished all = isthmus(command);
  EXPECT_EQ(all.out.find("= batch_norm("), std::string::npos) << all.out;
  const Finished some = isthmus(command + " --skip fold-batch-norm --skip expand-batch-norm");
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_NE(some.out.find("= batch_norm("), std::string::npos) << some.out;

  const Finished unknown = isthmus(command + " --skip fold-batchnorm");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_NE(unknown.err.find("unknown rewrite \"fold-batchnorm\"; known:"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("fold-batch-norm"), std::string::npos) << unknown.err;
}

TEST_F(Cli, RunComputesWhatPyTorchRecorded) {
  const Finished done =
      isthmus("run " + kModel +
              " --input tests/models/emg_cascade_input_0.npy --input tests/models/emg_cascade_input_1.npy"
              " --json -o " +
              (folder_ / "outputs").string());
  ASSERT_EQ(done.code, 0) << done.err;
  const auto json = nlohmann::json::parse(done.out);
  ASSERT_EQ(json["outputs"].size(), 2u);
  EXPECT_EQ(json["delegate_calls"], 0);
  for (const char* number : {"0", "1"}) {
    const Tensor found = test::read_tensor(folder_ / "outputs" / (std::string("output_") + number + ".npy"));
    const Tensor expected =
        test::read_tensor(test::source_dir() / "tests/models" / (std::string("emg_cascade_output_") + number + ".npy"));
    const test::Difference gap = test::difference(found, expected);
    EXPECT_LE(gap.max, 1e-4 * std::max(gap.range, 1e-2));
  }
}

TEST_F(Cli, RunUsesTheExamplesOfTheArchive) {
  EXPECT_EQ(isthmus("run " + kModel + " -o " + (folder_ / "outputs").string()).code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "outputs" / "output_1.npy"));
}

TEST_F(Cli, WrongInputsAreNamed) {
  const Finished count =
      isthmus("run " + kModel + " --input tests/models/emg_cascade_input_0.npy -o " + folder_.string());
  EXPECT_EQ(count.code, 1);
  EXPECT_NE(count.err.find("the model takes 2 inputs, 1 given"), std::string::npos) << count.err;
  const Finished shape =
      isthmus("run " + kModel +
              " --input tests/models/emg_cascade_input_1.npy --input tests/models/emg_cascade_input_0.npy -o " +
              folder_.string());
  EXPECT_EQ(shape.code, 1);
  EXPECT_NE(shape.err.find("input 0 (emg) is f32[1,6,50], expected f32[1,8,200]"), std::string::npos) << shape.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "output_0.npy"));
}

TEST_F(Cli, ExitCodes) {
  EXPECT_EQ(isthmus("").code, 2);
  EXPECT_EQ(isthmus("frobnicate").code, 2);
  EXPECT_EQ(isthmus("inspect").code, 2);
  EXPECT_EQ(isthmus("inspect " + kModel + " --frob").code, 2);
  EXPECT_EQ(isthmus("--help").code, 0);
  EXPECT_EQ(isthmus("inspect --help").code, 0);
  EXPECT_EQ(isthmus("--version").code, 0);
  const Finished missing = isthmus("inspect nowhere.pt2");
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err, "error: cannot open nowhere.pt2: No such file or directory\n");
  EXPECT_EQ(isthmus("inspect tests").code, 1);
  EXPECT_EQ(isthmus("inspect README.md").code, 1);
  const Finished branches = isthmus("check tests/models/probes/cond.pt2 --target xnnpack");
  EXPECT_EQ(branches.code, 1);
  EXPECT_NE(branches.err.find("select with torch.where"), std::string::npos) << branches.err;
}

TEST_F(Cli, TargetsPrintTheOpTable) {
  const Finished done = isthmus("targets --ops");
  EXPECT_EQ(done.code, 0);
  EXPECT_NE(done.out.find("aten.concat"), std::string::npos);
  const auto json = nlohmann::json::parse(isthmus("targets --ops --json").out);
  EXPECT_GT(json["ops"].size(), 60u);
}

}  // namespace
}  // namespace isthmus::cli_test
