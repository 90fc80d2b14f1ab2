// Calibration sees what the reference interpreter computes, on any number of threads.
#include "calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "session/stages.h"
#include "stats/measure.h"
#include "support/models.h"
#include "support/random_model.h"
#include "targets/registry.h"

namespace isthmus::calibrate_test {
namespace {

using ::testing::HasSubstr;

std::vector<std::vector<Tensor>> random_samples(const Graph& graph, std::size_t count) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal(0.1F, 1);
  std::vector<std::vector<Tensor>> samples(count);
  for (std::vector<Tensor>& sample : samples) {
    for (const ValueId input : graph.inputs()) {
      std::vector<std::int64_t> sizes;
      for (const Dim dim : graph.type(input).shape) sizes.push_back(dim.is_fixed() ? dim.value() : 1);
      Tensor tensor(DType::kF32, sizes);
      for (float& number : tensor.mutable_data<float>()) number = normal(random);
      sample.push_back(std::move(tensor));
    }
  }
  return samples;
}

Prepared prepared(const Graph& graph) {
  Diagnostics diagnostics;
  auto result = prepare(graph, {find_target("xnnpack"), {}}, diagnostics);
  EXPECT_TRUE(result) << result.error().text();
  return std::move(*result);
}

Expected<Statistics> calibrated(const Prepared& model, std::vector<std::vector<Tensor>> samples,
                                std::size_t threads = 1, const Progress& progress = {}) {
  Diagnostics diagnostics;
  const auto given = given_samples(std::move(samples));
  const xnnpack::ThreadPool pool(threads);
  return calibrate(model, *given, pool, progress, diagnostics);
}

// Against the reference: every value that calibration has, by extremes, sums and channels.
void expect_as_interpreted(const Prepared& model, const std::vector<std::vector<Tensor>>& samples,
                           const Statistics& found) {
  std::map<ValueId, std::vector<Tensor>> values;
  for (const auto& sample : samples) {
    const auto done = interpret(model.graph, sample, [&](ValueId id, const Tensor& tensor) {
      if (tensor.dtype() == DType::kF32) values[id].push_back(tensor);
    });
    ASSERT_TRUE(done) << done.error().text();
  }
  std::size_t compared = 0;
  for (const auto& [id, tensors] : values) {
    const Value& value = model.graph[id];
    const auto row = found.values.find(value.name);
    if (row == found.values.end()) continue;  // constants, and what lies before a fused clamp
    ++compared;
    Moments expected;
    for (const Tensor& tensor : tensors) expected.merge(measure(tensor.data<float>()));
    const Moments& moments = row->second.moments;
    const double range = std::max(1e-3, static_cast<double>(expected.max) - static_cast<double>(expected.min));
    EXPECT_EQ(moments.count, expected.count) << value.name;
    EXPECT_NEAR(moments.min, expected.min, 1e-4 * range) << value.name;
    EXPECT_NEAR(moments.max, expected.max, 1e-4 * range) << value.name;
    EXPECT_NEAR(moments.mean(), expected.mean(), 1e-4 * range) << value.name;
    EXPECT_NEAR(moments.variance(), expected.variance(), 1e-3 * range * range) << value.name;
    EXPECT_GT(row->second.histogram.count(), 0u) << value.name;
    for (const auto& [axis, channels] : row->second.channels) {
      const std::vector<std::int64_t>& sizes = tensors[0].sizes();
      std::size_t outer = 1, inner = 1;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i < axis) outer *= static_cast<std::size_t>(sizes[i]);
        if (i > axis) inner *= static_cast<std::size_t>(sizes[i]);
      }
      ChannelStatistics wanted;
      for (const Tensor& tensor : tensors) {
        wanted.add(
            measure_channels(tensor.data<float>(), outer, static_cast<std::size_t>(sizes[axis]), inner).channels);
      }
      ASSERT_EQ(channels.min.size(), wanted.min.size()) << value.name;
      EXPECT_EQ(channels.count, wanted.count);
      for (std::size_t c = 0; c < wanted.min.size(); ++c) {
        EXPECT_NEAR(channels.min[c], wanted.min[c], 1e-4 * range) << value.name;
        EXPECT_NEAR(channels.sum[c].value(), wanted.sum[c].value(), 1e-4 * range * static_cast<double>(wanted.count))
            << value.name;
      }
    }
  }
  EXPECT_GT(compared, 0u);
}

class BundledCalibration : public ::testing::TestWithParam<const char*> {};

TEST_P(BundledCalibration, SeesWhatTheInterpreterComputes) {
  Diagnostics diagnostics;
  const auto model = test::open(test::source_dir() / "tests/models" / GetParam(), diagnostics);
  ASSERT_TRUE(model);
  const Prepared ready = prepared(model->graph);
  const auto samples = random_samples(ready.graph, 3);
  const auto found = calibrated(ready, samples);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->samples, 3u);
  expect_as_interpreted(ready, samples, *found);
}

TEST_P(BundledCalibration, DoesNotDependOnTheNumberOfThreads) {
  Diagnostics diagnostics;
  const auto model = test::open(test::source_dir() / "tests/models" / GetParam(), diagnostics);
  ASSERT_TRUE(model);
  const Prepared ready = prepared(model->graph);
  const auto samples = random_samples(ready.graph, 9);
  const auto one = calibrated(ready, samples, 1);
  ASSERT_TRUE(one) << one.error().text();
  for (const std::size_t threads : {2u, 3u}) {
    const auto many = calibrated(ready, samples, threads);
    ASSERT_TRUE(many) << many.error().text();
    EXPECT_EQ(*many, *one);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BundledCalibration, ::testing::Values("emg_cascade.pt2", "deit_micro.pt2"));

TEST(Calibrate, RandomGraphsAgreeWithTheInterpreter) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Prepared ready = prepared(test::RandomModel(seed).make());
    const auto samples = random_samples(ready.graph, 2);
    const auto found = calibrated(ready, samples);
    ASSERT_TRUE(found) << "seed " << seed << ": " << found.error().text();
    expect_as_interpreted(ready, samples, *found);
  }
}

Prepared small() {
  auto graph = parse_graph(R"(graph
  input %x : f32[1,4]
  %s = sort(%x) axis=1 : f32[1,4]
  %y = tanh(%s) : f32[1,4]
  return %y
)");
  EXPECT_TRUE(graph) << graph.error().text();
  return prepared(*graph);
}

Tensor row(std::vector<float> numbers) {
  Tensor tensor(DType::kF32, {1, static_cast<std::int64_t>(numbers.size())});
  std::ranges::copy(numbers, tensor.mutable_data<float>().begin());
  return tensor;
}

TEST(Calibrate, WhatXnnpackLacksRunsOnOurKernels) {
  const Prepared model = small();
  const std::vector<std::vector<Tensor>> samples{{row({3, 1, 2, 0})}, {row({-3, 1, 2, 0})}};
  const auto found = calibrated(model, samples);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->values.size(), 3u);
  expect_as_interpreted(model, samples, *found);
}

TEST(Calibrate, ConstantZeroAndDenormalSamples) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const auto& numbers : {std::vector<float>{0, 0, 0, 0}, {2, 2, 2, 2}, {tiny, -tiny, 0, tiny}}) {
    const auto found = calibrated(small(), {{row(numbers)}});
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->values.at("x").moments.max, numbers[0]);
  }
}

// Infinite numbers are news where they reach what the model returns, or become NaN on the way.
TEST(Calibrate, InfinitiesAreReportedUnlessTheyAreMaskedLater) {
  const auto warnings = [](std::string_view last) {
    const Graph graph =
        *parse_graph("graph\n  input %x : f32[1,2]\n  const %m : f32[1,2] = [0.0,-inf]\n" +
                     ("  %a = add(%x, %m) : f32[1,2]\n  %y = " + std::string(last)) + " : f32[1,2]\n  return %y\n");
    const Prepared model{graph, {}, {}, {}};
    Diagnostics diagnostics;
    const auto given = given_samples(random_samples(graph, 1));
    const auto done = calibrate(model, *given, xnnpack::ThreadPool(1), {}, diagnostics, FloatKernels::kReference);
    EXPECT_TRUE(done) << done.error().text();
    return diagnostics.entries().size();
  };
  EXPECT_EQ(warnings("softmax(%a) axis=1"), 0U);
  EXPECT_EQ(warnings("clamp(%a) min=-1.0 max=1.0"), 0U);
  EXPECT_EQ(warnings("neg(%a)"), 2U);
  EXPECT_EQ(warnings("sub(%a, %a)"), 2U) << "NaN";
}

TEST(Calibrate, BadSamplesAreRejectedByIndexAndInput) {
  const auto found = calibrated(small(), {{row({1, 2, 3, 4})}, {row({1, NAN, 3, 4})}});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text(), HasSubstr("sample 1 of input 0 (x) has 1 NaN"));
  const auto none = calibrated(small(), {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("no calibration samples"));
}

TEST(Calibrate, EndsWhenAsked) {
  const std::vector<std::vector<Tensor>> samples(20, {row({1, 2, 3, 4})});
  const auto found = calibrated(small(), samples, 2, [](std::size_t done) { return done < 3; });
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text(), HasSubstr("interrupted"));
}

TEST(Calibrate, StridesMeetEveryChannel) {
  EXPECT_EQ(histogram_stride(4096, 64), 1u);
  for (const std::size_t channels : {3u, 48u, 64u, 96u, 1000u}) {
    const std::size_t stride = histogram_stride(1'000'000, channels);
    EXPECT_EQ(std::gcd(stride, channels), 1u);
    EXPECT_GE(stride, 244u);
    EXPECT_LE(stride, 260u);
  }
}

}  // namespace
}  // namespace isthmus::calibrate_test
