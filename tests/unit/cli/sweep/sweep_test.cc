// Sweeps as a user meets them: points that are done, points that fail, jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_line.h"

namespace isthmus::sweep_test {
namespace {

using test::Finished;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kModels = "tests/models/fmnist/";

class Sweep : public test::CommandLine {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string bytes(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Two points that succeed and one that cannot.
  void write_plan(const std::string& options = "--estimator minmax") const {
    std::filesystem::copy_file(kModels + "cnn.pt2", folder_ / "cnn.pt2",
                               std::filesystem::copy_options::overwrite_existing);
    std::ofstream(folder_ / "plan.toml")
        << "targets = [\"xnnpack\"]\n[[model]]\nfile = \"" << path("cnn.pt2") << "\"\ntest = \"" << kModels
        << "test_500.npz\"\ncalibrate = \"" << kModels
        << "calib_32.npz\"\n[[configuration]]\nname = \"float\"\noptions = \"--float\"\n"
        << "[[configuration]]\nname = \"int8\"\noptions = \"" << options
        << "\"\n[[configuration]]\nname = \"wrong\"\noptions = \"--estimatr mse\"\n";
  }
  Json sweep(const std::string& options = "") const {
    const Finished done = isthmus("sweep " + path("plan.toml") + " --seconds 0.001 --json " + options);
    EXPECT_EQ(done.code, 0) << done.err;
    return Json::parse(done.out);
  }
};

TEST_F(Sweep, PointsAreWhatCompileAndEvalMake) {
  write_plan();
  const Json found = sweep("--jobs 2");
  ASSERT_EQ(found["points"].size(), 3u);
  EXPECT_EQ(found["failed"], 1);
  EXPECT_THAT(found["points"][2]["error"]["message"].get<std::string>(), HasSubstr("did you mean --estimator?"));
  const std::string made = path("m.pte");
  ASSERT_EQ(isthmus("compile " + path("cnn.pt2") + " --target xnnpack --calibrate " + kModels +
                    "calib_32.npz --estimator minmax -q -o " + made)
                .code,
            0);
  EXPECT_EQ(bytes("plan.sweep/cnn.xnnpack.int8.pte"), bytes("m.pte"));
  const Json evaluated = Json::parse(
      isthmus("eval " + made + " --reference " + path("cnn.pt2") + " --data " + kModels + "test_500.npz --json").out);
  const Json& point = found["points"][1];
  for (const char* key : {"top1", "top1_reference", "agreement", "samples"})
    EXPECT_EQ(point[key], evaluated[key]) << key;
  EXPECT_EQ(point["sqnr_db"], evaluated["outputs"][0]["sqnr_db"]);
  EXPECT_EQ(point["bytes"], bytes("m.pte").size());
  EXPECT_GT(point["ms"], 0);
}

TEST_F(Sweep, WhatIsDoneIsNotDoneAgainUntilSomethingOfItChanges) {
  write_plan();
  const Json first = sweep();
  Json again = sweep("--jobs 3");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(first["points"][i]["was_done"]) << i;
    EXPECT_EQ(again["points"][i]["was_done"], i < 2) << i;
    again["points"][i]["was_done"] = false;
  }
  EXPECT_EQ(again, first);
  const auto done_before = [](const Json& found) {
    return std::vector<bool>{found["points"][0]["was_done"], found["points"][1]["was_done"]};
  };
  write_plan("--estimator mse");  // other options of one of them
  EXPECT_EQ(done_before(sweep()), (std::vector<bool>{true, false}));
  std::filesystem::remove(path("plan.sweep/cnn.xnnpack.float.pte"));  // a program that is gone
  EXPECT_EQ(done_before(sweep()), (std::vector<bool>{false, true}));
  std::ofstream(path("plan.sweep/cnn.xnnpack.int8.json")) << bytes("plan.sweep/cnn.xnnpack.int8.json").substr(0, 40);
  EXPECT_EQ(done_before(sweep()), (std::vector<bool>{true, false}));  // half a file
  std::filesystem::copy_file(kModels + "vit.pt2", folder_ / "cnn.pt2",
                             std::filesystem::copy_options::overwrite_existing);  // another model
  EXPECT_EQ(done_before(sweep()), (std::vector<bool>{false, false}));
}

TEST_F(Sweep, APointThatCannotBeCompiledIsKeptWithItsError) {
  write_plan("--batch 3");  // not the batch that the archive was exported with
  const Json first = sweep();
  EXPECT_FALSE(first["points"][1]["was_done"]);
  ASSERT_TRUE(first["points"][1].contains("error")) << first;
  const Json again = sweep();
  EXPECT_TRUE(again["points"][1]["was_done"]);
  EXPECT_EQ(again["points"][1]["error"], first["points"][1]["error"]);
  // A file that is missing may be there the next time.
  std::filesystem::remove(path("cnn.pt2"));
  EXPECT_FALSE(sweep()["points"][1]["was_done"]);
  EXPECT_FALSE(sweep()["points"][1]["was_done"]);
}

TEST_F(Sweep, JobsAreTheCommandsOfWhatIsNotDone) {
  write_plan();
  const auto jobs = [&] { return isthmus("sweep " + path("plan.toml") + " --print-jobs").out; };
  const std::string command = "isthmus sweep " + path("plan.toml") + " --point cnn.xnnpack.";
  EXPECT_EQ(jobs(), command + "float\n" + command + "int8\n" + command + "wrong\n");
  EXPECT_FALSE(std::filesystem::exists(path("plan.sweep")));
  EXPECT_EQ(isthmus("sweep " + path("plan.toml") + " --seconds 0.001 -q --point cnn.xnnpack.int8").code, 0);
  EXPECT_EQ(isthmus("sweep " + path("plan.toml") + " --seconds 0.001 -q --point cnn.xnnpack.wrong").code, 1);
  EXPECT_EQ(jobs(), command + "float\n" + command + "wrong\n");
  EXPECT_THAT(isthmus("sweep " + path("plan.toml") + " --point cnn.xnnpack.in8").err,
              HasSubstr("did you mean cnn.xnnpack.int8"));
}

TEST_F(Sweep, TableAndPageAreWritten) {
  write_plan();
  const Finished done =
      isthmus("sweep " + path("plan.toml") + " --seconds 0.001 --csv " + path("t.csv") + " --report " + path("t.html"));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("failed: "));
  EXPECT_THAT(bytes("t.csv"), HasSubstr("\ncnn,xnnpack,int8,"));
  EXPECT_THAT(bytes("t.html"), HasSubstr("\"kind\":\"sweep\""));
}

}  // namespace
}  // namespace isthmus::sweep_test
