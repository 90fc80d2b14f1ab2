// run, inspect and bench of TOSA files, as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/json_command_line.h"
#include "support/models.h"

namespace isthmus::cli_tosa_test {
namespace {

using test::Finished;
using testing::AllOf;
using testing::HasSubstr;

const std::string kCase = "tests/models/tosa/conv2d_3x3/conv2d_3x3_1x6x7x4_i8xi8_acci32_st21_pad1011_dilat11_lclbnd0/";
const std::string kGraph = kCase + "graph.tosa";
const std::string kInput = " --input " + kCase + "input-0.npy";

class CliTosa : public test::JsonCommandLine {};

TEST_F(CliTosa, RunGivesTheRecordedBits) {
  for (const std::string threads : {"", " --threads 1", " --threads 3"}) {
    const auto done = json("run " + kGraph + kInput + outputs() + threads);
    ASSERT_EQ(done["outputs"].size(), 1u);
    EXPECT_EQ(done["outputs"][0]["dtype"], "i32");
    EXPECT_EQ(done["delegate_calls"], 0);
    EXPECT_EQ(done["host_calls"], 1);
    const Tensor found = test::read_tensor(done["outputs"][0]["file"].get<std::string>());
    const Tensor expected = test::read_tensor(test::source_dir() / kCase / "expected-0.npy");
    EXPECT_TRUE(std::ranges::equal(found.bytes(), expected.bytes())) << threads;
  }
}

TEST_F(CliTosa, RunSaysWhatItWants) {
  const Finished none = isthmus("run " + kGraph + outputs());
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("give every input with --input (i8[1,6,7,4])"));
  const Finished wrong = isthmus("run " + kGraph + " --input " + kCase + "expected-0.npy" + outputs());
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("input 0 \"input-0\" is i8[1,6,7,4], but i32["), HasSubstr(kGraph)));
}

TEST_F(CliTosa, InspectShowsTheGraph) {
  const auto summary = json("inspect " + kGraph);
  EXPECT_EQ(summary["kind"], "tosa");
  EXPECT_EQ(summary["version"], "1.1.0 draft");
  EXPECT_EQ(summary["inputs"][0]["dtype"], "i8");
  EXPECT_EQ(summary["inputs"][0]["shape"], (nlohmann::json{1, 6, 7, 4}));
  EXPECT_EQ(summary["outputs"][0]["dtype"], "i32");
  EXPECT_EQ(summary["operators"], 1);
  EXPECT_EQ(summary["ops"], (nlohmann::json{{"CONV2D", 1}}));
  EXPECT_EQ(summary["constants"], 4);
  EXPECT_GT(summary["constant_bytes"], 0);
  EXPECT_GT(summary["products"], 0);
  EXPECT_FALSE(summary.contains("problem"));
  const Finished text = isthmus("inspect " + kGraph);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("TOSA 1.1.0 draft"), HasSubstr("input-0  i8[1,6,7,4]"), HasSubstr("CONV2D")));
  EXPECT_EQ(isthmus("inspect " + kGraph + " --ir").code, 1);
}

TEST_F(CliTosa, TheContentSaysWhatAFileIs) {
  const std::string copy = (folder_ / "model.pt2").string();
  std::filesystem::copy_file(kGraph, copy);
  EXPECT_EQ(json("inspect " + copy)["kind"], "tosa");
  const Finished check = isthmus("check " + copy + " --target xnnpack");
  EXPECT_EQ(check.code, 1);
  EXPECT_THAT(check.err, HasSubstr("is a TOSA graph (.tosa), not a model"));
}

TEST_F(CliTosa, BenchMeasures) {
  const auto done = json("bench " + kGraph + " --seconds 0.05 --threads 1");
  EXPECT_EQ(done["threads"], 1);
  EXPECT_GT(done["runs"], 0);
  EXPECT_GT(done["ms"]["p50"], 0.0);
  EXPECT_FALSE(done.contains("delegate_calls"));
  const Finished text = isthmus("bench " + kGraph + " --seconds 0.05");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("latency"));
  const Finished profile = isthmus("bench " + kGraph + " --profile");
  EXPECT_EQ(profile.code, 1);
  EXPECT_THAT(profile.err, HasSubstr("--profile is for program files"));
}

}  // namespace
}  // namespace isthmus::cli_tosa_test
