// No alarm on sound programs, of ExecuTorch or ours.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/command_line.h"
#include "support/models.h"

namespace isthmus::verify_models_slow_test {
namespace {

using nlohmann::json;

class VerifyModels : public test::CommandLine {
 protected:
  json verified(const std::string& file, const std::string& model, const std::string& data, int code) const {
    const auto done = isthmus("verify " + file + " --reference " + model + " --data " + data + " --json");
    EXPECT_EQ(done.code, code) << file << ": " << done.err;
    return json::parse(done.out, nullptr, false);
  }
};

TEST_F(VerifyModels, OursDepartNowhere) {
  const std::string models = "tests/models/";
  struct Case {
    std::string model, data;
  };
  for (const Case& one : {Case{"fmnist/cnn", "fmnist/calib_32"}, Case{"fmnist/vit", "fmnist/calib_32"},
                          Case{"fmnist/convnext", "fmnist/calib_32"}, Case{"emg_cascade", "emg_cascade_calib"},
                          Case{"resnet_small", "resnet_small_calib"}, Case{"convnext_ensemble", "images_48_calib"},
                          Case{"deit_micro", "images_48_calib"}}) {
    for (const char* target : {"xnnpack", "ethos-u55-128", "ethos-u85-256"}) {
      const std::string file = (folder_ / "out.pte").string();
      const std::string model = models + one.model + ".pt2", data = models + one.data + ".npz";
      ASSERT_EQ(isthmus("compile " + model + " --target " + target + " --calibrate " + data + " -q -o " + file).code,
                0);
      const json found = verified(file, model, data, 0);
      EXPECT_FALSE(found["departs"].get<bool>()) << one.model << " on " << target << found["departure"];
      EXPECT_GT(found["steps"].size(), 10) << one.model << " on " << target;
    }
  }
}

TEST_F(VerifyModels, ExecuTorchsRoundNoMoreThanTheyMust) {
  const auto shared = test::shared_dir();
  if (!std::filesystem::exists(shared / "golden/peer")) GTEST_SKIP() << "no shared/golden/peer";
  const auto model = [&](const std::string& name) { return (shared / "models" / name / "model.pt2").string(); };
  for (const std::string name : {"convnext_ensemble", "fmnist_convnext", "fmnist_vit", "resnet_small", "deit_micro"}) {
    const std::string file = (shared / "golden/peer" / (name + "_xnnpack.pte")).string();
    const json found = verified(file, model(name), (shared / "models" / name / "calib.npz").string(), 0);
    EXPECT_GE(found["steps"].size() * 2, found["values"].get<std::size_t>()) << name;
    if (name != "deit_micro") continue;
    // Where it loses its precision: a norm takes away the mean, and the rounding of the mean stays.
    const json& worst = found["steps"][found["losses"][0].get<std::size_t>()];
    EXPECT_EQ(worst["module"], "blocks.0.n1");
    EXPECT_GT(worst["before_db"].get<double>() - worst["sqnr_db"].get<double>(), 8);
  }
}

}  // namespace
}  // namespace isthmus::verify_models_slow_test
