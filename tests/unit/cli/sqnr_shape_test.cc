// How far an output is from float has one shape in the JSON of every command.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/command_line.h"

namespace isthmus::sqnr_shape_test {
namespace {

class SqnrShape : public test::CommandLine {
 protected:
  nlohmann::json run(const std::string& command) const {
    const test::Finished done = isthmus(command + " --json");
    EXPECT_EQ(done.code, 0) << done.err;
    return nlohmann::json::parse(done.out);
  }
};

TEST_F(SqnrShape, OutputsOfCompileAndEvalHaveTheSameKeys) {
  const std::string file = (folder_ / "m.pte").string();
  const std::string model = "tests/models/fmnist/cnn.pt2";
  const nlohmann::json compiled =
      run("compile " + model + " --target xnnpack --calibrate tests/models/fmnist/calib_32.npz -o " + file);
  const nlohmann::json evaluated =
      run("eval " + file + " --reference " + model + " --data tests/models/fmnist/test_500.npz --samples 20");
  ASSERT_EQ(compiled["outputs"].size(), 1U);
  ASSERT_EQ(evaluated["outputs"].size(), 1U);
  for (const nlohmann::json* found : {&compiled, &evaluated}) {
    const nlohmann::json& output = (*found)["outputs"][0];
    EXPECT_EQ(output["name"], "output_0");
    EXPECT_GT(output["sqnr_db"].get<double>(), 20);
  }
  // The older lists say the same.
  EXPECT_EQ(compiled["sqnr_db"][0]["output"], "output_0");
  EXPECT_EQ(compiled["sqnr_db"][0]["db"], compiled["outputs"][0]["sqnr_db"]);
  EXPECT_EQ(evaluated["sqnr_db"][0], evaluated["outputs"][0]["sqnr_db"]);
}

TEST_F(SqnrShape, InfiniteSqnrIsEqualInTextAndJson) {
  const std::string file = (folder_ / "m.pte").string();
  const std::string model = "tests/models/ops/concat_dim1.pt2";
  run("compile " + model + " --target xnnpack --float -o " + file);
  const std::string eval = "eval " + file + " --reference " + model;
  EXPECT_EQ(run(eval)["outputs"][0]["sqnr_db"], 200);
  EXPECT_NE(isthmus(eval).out.find("200.00 dB (no difference)"), std::string::npos);
}

}  // namespace
}  // namespace isthmus::sqnr_shape_test
