// The defaults are never worse than plain rounding by more than half a dB on images that calibration did not see.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "evaluate/gate.h"
#include "formats/npz.h"
#include "quantize/config/techniques.h"
#include "session/calibrate.h"
#include "session/prepare.h"
#include "session/quantize.h"
#include "session/runners.h"
#include "support/command_line.h"
#include "support/models.h"
#include "support/random_quant_model.h"
#include "targets/registry.h"

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

// In dB, by output: of samples that neither calibration nor the gate saw, and of all.
struct Figures {
  std::vector<double> fresh, data;
};

class WiderTechniqueLaw : public test::CommandLine, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr std::int64_t kParts = 4;  // all but the last are calibrated with

  static std::int64_t samples_of(const std::filesystem::path& npz) {
    auto blob = map_file(npz);
    EXPECT_TRUE(blob) << blob.error().text();
    const auto data = Npz::open(*std::move(blob));
    EXPECT_TRUE(data) << data.error().text();
    return data->arrays()[0].shape[0];
  }
  std::vector<double> db(const std::filesystem::path& model, const std::string& samples) const {
    const test::Finished done =
        isthmus(fmt::format("eval {0}/model.pte --reference {1}/model.pt2 --data {1}/calib.npz --threads 1 --json {2}",
                            folder_.string(), model.string(), samples));
    EXPECT_EQ(done.code, 0) << done.err;
    std::vector<double> result;
    if (done.code != 0) return result;
    for (const auto& output : nlohmann::json::parse(done.out)["sqnr_db"]) result.push_back(output);
    return result;
  }
  Figures figures(const std::filesystem::path& model, const std::string& config) const {
    std::ofstream(folder_ / "quant.toml") << config;
    const std::filesystem::path data = model / "calib.npz";
    const test::Finished compiled = isthmus(fmt::format(
        "compile {0}/model.pt2 --target {1} --calibrate {2} --samples {3} --config {4}/quant.toml "
        "--threads 1 -q -o {4}/model.pte",
        model.string(), GetParam(), data.string(), samples_of(data) * (kParts - 1) / kParts, folder_.string()));
    EXPECT_EQ(compiled.code, 0) << compiled.err;
    if (compiled.code != 0) return {};
    const std::string last = fmt::format("--shard {}/{} -o {}/last.eval", kParts - 1, kParts, folder_.string());
    return {db(model, last), db(model, "")};
  }
};

// Where few samples are compared, fresh ones may be worse by chance; all data together may not agree with them.
TEST_P(WiderTechniqueLaw, NoneIsWorseThanPlainRounding) {
  const std::filesystem::path models = test::shared_dir() / "models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << models << " is not there";
  std::string plain;
  for (const Technique& technique : techniques()) plain += std::string(technique.off) + "\n";
  for (const std::filesystem::path& folder : {models, models / "zoo"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!std::filesystem::exists(entry.path() / "calib.npz")) continue;
      const Figures alone = figures(entry.path(), plain);
      const Figures all = figures(entry.path(), "");
      ASSERT_EQ(alone.fresh.size(), all.fresh.size());
      for (std::size_t i = 0; i < std::min(all.fresh.size(), all.data.size()); ++i) {
        const bool is_worse = all.fresh[i] < alone.fresh[i] - kMaxLossDb && all.data[i] < alone.data[i] - kMaxLossDb;
        EXPECT_FALSE(is_worse) << entry.path().filename() << " output " << i << ": " << all.fresh[i] << " and "
                               << all.data[i] << " dB, in plain rounding " << alone.fresh[i] << " and "
                               << alone.data[i];
      }
    }
  }
}

// Random graphs, judged on other samples than those that the gate saw.
class RandomTechniqueLaw : public testing::TestWithParam<std::string> {
 protected:
  // Pooled over the samples, by output.
  static std::vector<SignalToNoise> errors(const Runner& reference, const Runner& runner,
                                           std::span<const std::vector<Tensor>> samples) {
    std::vector<SignalToNoise> result;
    for (const std::vector<Tensor>& sample : samples) {
      const auto wanted = reference(sample);
      const auto found = runner(sample);
      EXPECT_TRUE(wanted && found);
      if (!wanted || !found) return {};
      result.resize(wanted->size());
      for (std::size_t i = 0; i < wanted->size(); ++i) {
        result[i].add((*wanted)[i]->data<float>(), (*found)[i]->data<float>());
      }
    }
    return result;
  }
};

TEST_P(RandomTechniqueLaw, NoneIsWorseThanPlainRounding) {
  constexpr std::size_t kCalibrated = 16;
  constexpr std::size_t kTrials = 8;
  constexpr std::size_t kFresh = 16;
  constexpr unsigned kGraphs = 24;
  constexpr int kDeviations = 2;
  const TargetDesc& target = *find_target(GetParam());
  for (unsigned seed = 0; seed < kGraphs; ++seed) {
    test::RandomQuantModel random(seed, test::Widths::kTame);
    Diagnostics diagnostics;
    const Graph graph = random.make();
    const auto prepared = prepare(graph, {&target, {}}, diagnostics);
    ASSERT_TRUE(prepared) << prepared.error().text();
    std::vector<std::vector<Tensor>> samples;
    while (samples.size() < kCalibrated + kTrials + kFresh) samples.push_back(random.inputs(prepared->graph));
    const std::span all(samples);
    const xnnpack::ThreadPool threads(1);
    const auto source = given_samples({samples.begin(), samples.begin() + kCalibrated});
    const auto statistics = calibrate(*prepared, *source, threads, {}, diagnostics, FloatKernels::kReference);
    ASSERT_TRUE(statistics) << statistics.error().text();
    const auto moments = input_moments(prepared->graph, all.first(kCalibrated));
    ASSERT_TRUE(moments) << moments.error().text();
    const Runner reference = *reference_runners(prepared->graph)();
    std::deque<QuantizedModel> models;
    const Attempt attempt = [&](const QuantConfig& config) -> Expected<Runner> {
      Diagnostics said;
      models.push_back(TRY(quantize(*prepared, target, &*statistics, config, said, &*moments)));
      return integer_runners(models.back().quantized.graph, *target.integers.kernels)();
    };
    std::vector<Trial> trials;
    for (const auto& sample : all.subspan(kCalibrated, kTrials)) trials.push_back({sample, *reference(sample), true});
    const QuantConfig chosen = without_harm({}, trials, attempt, {.tries_each = true}, diagnostics);
    const auto ours = attempt(chosen);
    const auto plain = attempt(plain_rounding({}));
    ASSERT_TRUE(ours && plain) << "seed " << seed;
    const auto fresh = all.subspan(kCalibrated + kTrials);
    const auto found = errors(reference, *ours, fresh);
    const auto alone = errors(reference, *plain, fresh);
    for (std::size_t i = 0; i < found.size(); ++i) {
      // The gate decides by chance, too, within what its own samples can show.
      const std::uint64_t numbers = found[i].count();
      const double chance = chance_db(numbers) + chance_db(numbers * kTrials / kFresh);
      const double limit = kMaxLossDb + kDeviations * chance;
      EXPECT_GE(found[i].db(), alone[i].db() - limit) << "seed " << seed << " output " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, RandomTechniqueLaw, testing::Values("xnnpack", "ethos-u85-256"),
                         [](const auto& row) { return row.param == "xnnpack" ? "cpu" : "npu"; });

INSTANTIATE_TEST_SUITE_P(Corpus, WiderTechniqueLaw, testing::Values("xnnpack", "ethos-u85-256", "ethos-u55-128"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

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
