// Nodes that are promoted are those that the outputs gain most by, and promoting never loses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/command_line.h"

namespace isthmus::promote_test {
namespace {

class Promote : public test::CommandLine {
 protected:
  nlohmann::json compile(const std::string& options) const {
    const test::Finished done =
        isthmus("compile tests/models/fmnist/cnn.pt2 --calibrate tests/models/fmnist/calib_32.npz --json " + options +
                " -o " + (folder_ / "m.pte").string());
    EXPECT_EQ(done.code, 0) << done.err;
    return nlohmann::json::parse(done.out);
  }
  double pooled_db() const {
    const test::Finished done = isthmus("eval " + (folder_ / "m.pte").string() +
                                        " --reference tests/models/fmnist/cnn.pt2 --data "
                                        "tests/models/fmnist/test_500.npz --samples 100 --json");
    return nlohmann::json::parse(done.out)["outputs"][0]["sqnr_db"];
  }
};

class PromoteOn : public Promote, public testing::WithParamInterface<const char*> {};

TEST_P(PromoteOn, NeverLosesAndSaysWhatItCosts) {
  const std::string target = std::string("--target ") + GetParam();
  const nlohmann::json plain = compile(target);
  double before = plain["outputs"][0]["sqnr_db"];
  const double pooled = pooled_db();
  std::size_t bytes = 0;
  for (const int count : {1, 2, 4}) {
    const nlohmann::json found = compile(target + " --promote " + std::to_string(count));
    const nlohmann::json promoted = found.value("promoted", nlohmann::json::array());
    EXPECT_LE(promoted.size(), static_cast<std::size_t>(count));
    for (const nlohmann::json& row : promoted) {
      EXPECT_GT(row["db"], 0) << row;
      EXPECT_TRUE(row.contains("bytes") && row.contains("node") && (row.contains("ms") || row.contains("cycles")))
          << row;
    }
    const double now = found["outputs"][0]["sqnr_db"];
    EXPECT_GE(now, before) << count;
    EXPECT_GE(found["bytes"], bytes);
    before = now;
    bytes = found["bytes"];
  }
  EXPECT_GT(before, plain["outputs"][0]["sqnr_db"]) << "some node gains";
  // On images that nothing else has seen.
  EXPECT_GE(pooled_db(), pooled);
}

INSTANTIATE_TEST_SUITE_P(Targets, PromoteOn, testing::Values("xnnpack", "ethos-u55-128", "ethos-u85-256"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(Promote, LayerErrorsLeadWithTheNodeThatPromoteTakes) {
  const nlohmann::json listed = compile("--target ethos-u85-256 --layer-errors");
  const nlohmann::json promoted = compile("--target ethos-u85-256 --promote 1");
  ASSERT_FALSE(listed["errors"].empty());
  double last = 1e9;
  for (const nlohmann::json& row : listed["errors"]) {
    if (!row.contains("gain")) break;
    EXPECT_LE(row["gain"]["db"].get<double>(), last);
    EXPECT_TRUE(row["gain"].contains("cycles")) << row;
    last = row["gain"]["db"];
  }
  // What held-out samples lose by is listed, and not taken.
  for (const nlohmann::json& taken : promoted.value("promoted", nlohmann::json::array())) {
    const bool is_listed = std::ranges::any_of(listed["errors"], [&](const nlohmann::json& row) {
      return row["value"] == taken["node"] && row.contains("gain");
    });
    EXPECT_TRUE(is_listed) << taken;
  }
}

// A U-Net: late layers have the largest errors, and are not those that cause them.
class PromoteUnet : public test::CommandLine {
 protected:
  struct Found {
    std::size_t bytes = 0;
    double db = 0;
  };
  Found with(const std::string& options) const {
    const std::string files = " tests/models/unet/unet_transpose.onnx ";
    const std::string data = "tests/models/unet/unet_transpose_calib.npz";
    const std::string program = (folder_ / "m.pte").string();
    const auto compiled =
        json("compile" + files + "--target xnnpack --calibrate " + data + " " + options + " -o " + program);
    const auto judged = json("eval " + program + " --reference" + files + "--data " + data);
    return {compiled["bytes"], judged["outputs"][0]["sqnr_db"]};
  }
  nlohmann::json json(const std::string& command) const {
    const test::Finished done = isthmus(command + " --json");
    EXPECT_EQ(done.code, 0) << done.err;
    return nlohmann::json::parse(done.out);
  }
};

TEST_F(PromoteUnet, FourNodesByGainAreAsGoodAsEightByErrorAndSmaller) {
  const auto listed = json(
      "compile tests/models/unet/unet_transpose.onnx --target xnnpack --calibrate "
      "tests/models/unet/unet_transpose_calib.npz --layer-errors -o " +
      (folder_ / "m.pte").string());
  std::vector<std::pair<double, std::string>> worst;
  for (const nlohmann::json& row : listed["errors"]) {
    if (row.contains("gain")) worst.emplace_back(row["rounding_db"], row["value"]);
  }
  ASSERT_GT(worst.size(), 8U);
  std::ranges::sort(worst);
  std::string rules;
  for (std::size_t i = 0; i < 8; ++i) rules += "[[rule]]\nnode = \"" + worst[i].second + "\"\nprecision = \"float\"\n";
  const std::string config = (folder_ / "worst.toml").string();
  std::ofstream(config) << rules;
  const Found by_error = with("--config " + config);
  const Found by_gain = with("--promote 4");
  EXPECT_GE(by_gain.db, by_error.db);
  EXPECT_LT(by_gain.bytes, by_error.bytes);
  EXPECT_GT(by_gain.db, with("").db + 2);
}

}  // namespace
}  // namespace isthmus::promote_test
