// The defaults are never worse than plain rounding by more than half a dB on images that calibration did not see.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "evaluate/gate.h"
#include "quantize/config/techniques.h"
#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::technique_law_slow_test {
namespace {

struct Case {
  std::string model, target;
};

class TechniqueLaw : public test::CommandLine, public testing::WithParamInterface<Case> {
 protected:
  // With these lines of quant.toml.
  double db(const std::string& config) const {
    const std::string data = "tests/models/fmnist";
    const std::string file = folder_ / "model.pte";
    std::ofstream(folder_ / "quant.toml") << config;
    const test::Finished compiled = isthmus(
        fmt::format("compile {}/{}.pt2 --target {} --calibrate {}/calib_32.npz --config {} --threads 1 -q -o {}", data,
                    GetParam().model, GetParam().target, data, (folder_ / "quant.toml").string(), file));
    EXPECT_EQ(compiled.code, 0) << compiled.err;
    const test::Finished evaluated = isthmus(fmt::format(
        "eval {} --reference {}/{}.pt2 --data {}/test_500.npz --threads 1 --json", file, data, GetParam().model, data));
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    return nlohmann::json::parse(evaluated.out)["sqnr_db"][0];
  }
};

TEST_P(TechniqueLaw, NoneIsWorseThanPlainRounding) {
  std::string plain;
  for (const Technique& technique : techniques()) plain += std::string(technique.off) + "\n";
  const double alone = db(plain);
  EXPECT_GE(db(""), alone - kMaxLossDb) << "all defaults";
  for (const Technique& technique : techniques()) {
    if (!technique.is_on({})) continue;
    std::string others;
    for (const Technique& other : techniques()) {
      if (other.key != technique.key) others += std::string(other.off) + "\n";
    }
    EXPECT_GE(db(others), alone - kMaxLossOfOneDb) << technique.name;
  }
}

// What compile says of the samples that calibration did not see, and what all of its data say.
struct Figures {
  std::vector<double> held_out, data;
};

class WiderTechniqueLaw : public test::CommandLine, public testing::WithParamInterface<std::string> {
 protected:
  Figures figures(const std::filesystem::path& model, const std::string& config) const {
    const std::string file = folder_ / "model.pte";
    const std::string data = (model / "calib.npz").string();
    std::ofstream(folder_ / "quant.toml") << config;
    const test::Finished compiled =
        isthmus(fmt::format("compile {}/model.pt2 --target {} --calibrate {} --config {} --threads 1 --json -o {}",
                            model.string(), GetParam(), data, (folder_ / "quant.toml").string(), file));
    Figures result;
    if (compiled.code != 0) return result;
    for (const auto& row : nlohmann::json::parse(compiled.out)["sqnr_db"]) result.held_out.push_back(row["db"]);
    const test::Finished evaluated = isthmus(
        fmt::format("eval {} --reference {}/model.pt2 --data {} --threads 1 --json", file, model.string(), data));
    if (evaluated.code != 0) return result;
    for (const auto& db : nlohmann::json::parse(evaluated.out)["sqnr_db"]) result.data.push_back(db);
    return result;
  }
};

// Where few numbers are compared, the held-out sample may be worse by chance; all data together may not agree with it.
TEST_P(WiderTechniqueLaw, NoneIsWorseThanPlainRounding) {
  const std::filesystem::path folder = test::shared_dir() / "models" / "zoo";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::string plain;
  for (const Technique& technique : techniques()) plain += std::string(technique.off) + "\n";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!std::filesystem::exists(entry.path() / "calib.npz")) continue;
    const Figures alone = figures(entry.path(), plain);
    const Figures all = figures(entry.path(), "");
    ASSERT_EQ(alone.held_out.size(), all.held_out.size());
    for (std::size_t i = 0; i < std::min(all.held_out.size(), all.data.size()); ++i) {
      const bool is_worse =
          all.held_out[i] < alone.held_out[i] - kMaxLossDb && all.data[i] < alone.data[i] - kMaxLossDb;
      EXPECT_FALSE(is_worse) << entry.path().filename() << " output " << i << ": " << all.held_out[i] << " and "
                             << all.data[i] << " dB, in plain rounding " << alone.held_out[i] << " and "
                             << alone.data[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, WiderTechniqueLaw, testing::Values("xnnpack", "ethos-u85-256"),
                         [](const auto& row) { return row.param == "xnnpack" ? "cpu" : "npu"; });

INSTANTIATE_TEST_SUITE_P(Trained, TechniqueLaw,
                         testing::Values(Case{"cnn", "xnnpack"}, Case{"vit", "xnnpack"}, Case{"cnn", "ethos-u85-256"},
                                         Case{"vit", "ethos-u85-256"}, Case{"cnn", "ethos-u55-128"},
                                         Case{"vit", "ethos-u55-128"}),
                         [](const auto& row) {
                           std::string name = row.param.model + "_" + row.param.target;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace isthmus::technique_law_slow_test
