// Nodes that are promoted are those that the outputs gain most by, and promoting never loses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/command_line.h"
#include "support/onnx_writer.h"

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
    const std::string program = (folder_ / "m.pte").string();
    const auto compiled = json("compile " + model_ + kData + options + " -o " + program);
    const auto judged = json("eval " + program + " --reference " + model_ + " --data " + kCalibration);
    return {compiled["bytes"], judged["outputs"][0]["sqnr_db"]};
  }
  // With the nodes in float that have the largest rounding errors.
  Found with_worst_rounding(std::size_t count, const std::string& options = "") const {
    const auto listed =
        json("compile " + model_ + kData + "--layer-errors " + options + " -o " + (folder_ / "m.pte").string());
    std::vector<std::pair<double, std::string>> worst;
    for (const nlohmann::json& row : listed["errors"]) {
      if (row.contains("gain")) worst.emplace_back(row["rounding_db"], row["value"]);
    }
    EXPECT_GT(worst.size(), count);
    std::ranges::sort(worst);
    std::string rules;
    for (std::size_t i = 0; i < count; ++i) {
      rules += "[[rule]]\nnode = \"" + worst[i].second + "\"\nprecision = \"float\"\n";
    }
    const std::string config = (folder_ / "worst.toml").string();
    std::ofstream(config) << rules;
    return with(options + " --config " + config);
  }
  nlohmann::json json(const std::string& command) const {
    const test::Finished done = isthmus(command + " --json");
    EXPECT_EQ(done.code, 0) << done.err;
    return nlohmann::json::parse(done.out);
  }

  static constexpr const char* kCalibration = "tests/models/unet/unet_transpose_calib.npz";
  static constexpr const char* kData = " --target xnnpack --calibrate tests/models/unet/unet_transpose_calib.npz ";
  std::string model_ = "tests/models/unet/unet_transpose.onnx";
};

TEST_F(PromoteUnet, FourNodesByGainBeatEightByErrorWithFewerBytes) {
  const Found by_error = with_worst_rounding(8);
  const Found by_gain = with("--promote 4");
  EXPECT_GE(by_gain.db, by_error.db);
  EXPECT_LT(by_gain.bytes, by_error.bytes);
  EXPECT_GT(by_gain.db, with("").db + 2);
}

// A network of this form with random weights, whose channels have ranges that differ by up to 2^10.
test::OnnxGraph random_unet(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<float>(random()) / 4294967296.0F * 2 - 1; };
  test::OnnxGraph graph;
  graph.input("x", 1, {std::int64_t{1}, std::int64_t{3}, std::int64_t{16}, std::int64_t{16}});
  const auto layer = [&](const std::string& name, const std::string& input, std::int64_t from, std::int64_t to,
                         std::int64_t kernel, std::int64_t stride, bool is_transposed, bool has_relu) {
    std::vector<float> weight(static_cast<std::size_t>(from * to * kernel * kernel));
    std::vector<float> scales(static_cast<std::size_t>(to));
    for (float& scale : scales) scale = std::exp2(5 * uniform());
    const float size = std::sqrt(3.0F / static_cast<float>(from * kernel * kernel));
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const auto window = static_cast<std::size_t>(kernel * kernel);
      const std::size_t channel =
          is_transposed ? i / window % static_cast<std::size_t>(to) : i / window / static_cast<std::size_t>(from);
      weight[i] = uniform() * size * scales[channel];
    }
    std::vector<float> bias(static_cast<std::size_t>(to));
    for (float& number : bias) number = uniform() / 8;
    const std::int64_t first = is_transposed ? from : to;
    graph.floats(name + ".w", {first, is_transposed ? to : from, kernel, kernel}, weight);
    graph.floats(name + ".b", {to}, bias);
    const std::int64_t pad = is_transposed ? 0 : kernel / 2;
    graph.node(is_transposed ? "ConvTranspose" : "Conv", {input, name + ".w", name + ".b"},
               {has_relu ? name + "_c" : name},
               {{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
                {"strides", std::vector<std::int64_t>{stride, stride}},
                {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
    if (has_relu) graph.node("Relu", {name + "_c"}, {name});
  };
  const auto concat = [&](const std::string& name, const std::string& a, const std::string& b) {
    graph.node("Concat", {a, b}, {name}, {{"axis", std::int64_t{1}}});
  };
  layer("enc1a", "x", 3, 8, 3, 1, false, true);
  layer("enc1b", "enc1a", 8, 8, 3, 1, false, true);
  layer("enc2a", "enc1b", 8, 16, 3, 2, false, true);
  layer("enc2b", "enc2a", 16, 16, 3, 1, false, true);
  layer("mid_a", "enc2b", 16, 24, 3, 2, false, true);
  layer("mid_b", "mid_a", 24, 24, 3, 1, false, true);
  layer("up2", "mid_b", 24, 16, 2, 2, true, false);
  concat("cat2", "up2", "enc2b");
  layer("dec2a", "cat2", 32, 16, 3, 1, false, true);
  layer("dec2b", "dec2a", 16, 16, 3, 1, false, true);
  layer("up1", "dec2b", 16, 8, 2, 2, true, false);
  concat("cat1", "up1", "enc1b");
  layer("dec1a", "cat1", 16, 8, 3, 1, false, true);
  layer("dec1b", "dec1a", 8, 8, 3, 1, false, true);
  layer("mask", "dec1b", 8, 2, 1, 1, false, false);
  graph.output("mask");
  return graph;
}

// Nodes may gain only together: taken one after the other by their own gains, two nodes bring 30.6 dB and none of the
// others brings more.
TEST_F(PromoteUnet, NodesThatGainOnlyTogetherAreFound) {
  const Blob bytes = test::onnx_model(random_unet(1));
  model_ = write("random.onnx", std::string(bytes.text()));
  const Found promoted = with("--promote 4 --reproducible");
  EXPECT_GT(promoted.db, 31.2);
  EXPECT_GE(promoted.db, with_worst_rounding(4, "--reproducible").db);
  EXPECT_GE(promoted.db, with("--promote 2 --reproducible").db);
}

}  // namespace
}  // namespace isthmus::promote_test
