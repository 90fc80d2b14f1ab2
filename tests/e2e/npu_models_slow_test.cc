// Whole models on both NPUs, run from their program files: one delegate, little noise, no more bytes than others need.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::npu_models_slow_test {
namespace {

using Json = nlohmann::json;

// What ExecuTorch's converted model reaches over all samples of calibration, and the larger of its two TOSA payloads.
struct Peer {
  const char* model;
  std::vector<double> db;  // by output
  std::uintmax_t bytes;
  double gain = 3;  // in dB
};

class NpuModels : public test::CommandLine, public testing::WithParamInterface<Peer> {};

TEST_P(NpuModels, LoseLessThanOthersInNoMoreBytes) {
  const std::filesystem::path data = test::shared_dir() / "models" / GetParam().model;
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "the models are not here";
  const std::string model = data / "model.pt2";
  const std::string samples = data / "calib.npz";
  for (const char* target : {"ethos-u85-256", "ethos-u55-128"}) {
    const std::filesystem::path folder = folder_ / target;
    const std::string file = folder_ / "model.pte";
    const test::Finished compiled =
        isthmus(fmt::format("compile {} --target {} --calibrate {} --threads 1 --json -o {} --emit-tosa {}", model,
                            target, samples, file, folder.string()));
    ASSERT_EQ(compiled.code, 0) << compiled.err;
    const Json made = Json::parse(compiled.out);
    EXPECT_EQ(made["delegates"], 1) << compiled.out;
    EXPECT_TRUE(made["host"].empty()) << compiled.out;
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
    EXPECT_LE(bytes, GetParam().bytes) << target;
    const test::Finished evaluated =
        isthmus(fmt::format("eval {} --reference {} --data {} --threads 1 --json", file, model, samples));
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    const Json noise = Json::parse(evaluated.out)["sqnr_db"];
    ASSERT_EQ(noise.size(), GetParam().db.size());
    for (std::size_t i = 0; i < noise.size(); ++i) {
      EXPECT_GE(noise[i].get<double>(), GetParam().db[i] + GetParam().gain) << target << ", output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NpuModels,
                         testing::Values(Peer{"emg_cascade", {53.6, 34.1}, 67552},
                                         Peer{"convnext_ensemble", {32.5}, 304992},
                                         Peer{"deit_micro", {15.1}, 363992, 10}, Peer{"fmnist_cnn", {31.5}, 46936},
                                         Peer{"fmnist_vit", {30.6}, 510432}, Peer{"fmnist_convnext", {29.7}, 237016},
                                         Peer{"resnet_small", {27.5}, 113712}),
                         [](const auto& row) { return std::string(row.param.model); });

}  // namespace
}  // namespace isthmus::npu_models_slow_test
