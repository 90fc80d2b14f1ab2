// The defaults are never worse than plain rounding by more than half a dB on images that calibration did not see.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "evaluate/gate.h"
#include "quantize/techniques.h"
#include "support/command_line.h"

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
