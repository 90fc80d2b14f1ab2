// The fast path of calibration against the reference interpreter on whole models.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "calibrate/samples.h"
#include "interpret/interpreter.h"
#include "session/stages.h"
#include "stats/measure.h"
#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::calibrate_models_slow_test {
namespace {

struct Loaded {
  Model model;
  Prepared prepared;
};

Expected<Loaded> prepared_model(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  Loaded loaded{TRY(test::open(path, diagnostics)), {}};
  loaded.prepared = TRY(prepare(loaded.model.graph, {find_target("xnnpack"), {}}, diagnostics));
  return loaded;
}

Expected<Statistics> calibrated(const Prepared& prepared, const std::filesystem::path& data, std::size_t max) {
  Diagnostics diagnostics;
  SampleOptions options;
  options.limit = max;
  const auto samples = TRY(open_samples(data.string(), prepared.graph, options, diagnostics));
  const xnnpack::ThreadPool threads(1);
  return calibrate(prepared, *samples, threads, {}, diagnostics);
}

TEST(CalibrateModels, SeeWhatTheInterpreterComputes) {
  const std::filesystem::path models = test::shared_dir() / "models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "the models are not here";
  constexpr std::size_t kSamples = 2;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(models)) {
    if (!std::filesystem::exists(entry.path() / "calib.npz")) continue;
    const auto loaded = prepared_model(entry.path() / "model.pt2");
    ASSERT_TRUE(loaded) << loaded.error().text();
    const Graph& graph = loaded->prepared.graph;
    const auto found = calibrated(loaded->prepared, entry.path() / "calib.npz", kSamples);
    ASSERT_TRUE(found) << entry.path() << ": " << found.error().text();
    std::map<std::string, Moments> expected;
    Diagnostics diagnostics;
    SampleOptions options;
    options.limit = kSamples;
    auto samples = open_samples((entry.path() / "calib.npz").string(), graph, options, diagnostics);
    ASSERT_TRUE(samples) << samples.error().text();
    while (true) {
      auto sample = (*samples)->next();
      ASSERT_TRUE(sample) << sample.error().text();
      if (!*sample) break;
      const auto done = interpret(graph, **sample, [&](ValueId id, const Tensor& tensor) {
        if (tensor.dtype() == DType::kF32) expected[graph[id].name].merge(measure(tensor.data<float>()));
      });
      ASSERT_TRUE(done) << done.error().text();
    }
    double worst = 0;
    for (const auto& [name, value] : found->values) {
      const Moments& wanted = expected.at(name);
      const double range = std::max(1e-6, static_cast<double>(wanted.max) - static_cast<double>(wanted.min));
      EXPECT_EQ(value.moments.count, wanted.count);
      for (const double gap :
           {static_cast<double>(value.moments.min - wanted.min), static_cast<double>(value.moments.max - wanted.max),
            value.moments.mean() - wanted.mean()}) {
        worst = std::max(worst, std::abs(gap) / range);
      }
    }
    std::cout << entry.path().filename().string() << ": " << found->values.size() << " values, largest difference "
              << worst << " of a value's range\n";
    EXPECT_LE(worst, 1e-4) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace isthmus::calibrate_models_slow_test
