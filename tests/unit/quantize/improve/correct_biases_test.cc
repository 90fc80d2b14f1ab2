// Biases that are moved until the quantized model's means are those of the model.
#include "quantize/improve/correct_biases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "support/quantized_graphs.h"
#include "support/quantized_tensors.h"
#include "support/random_quant_model.h"
#include "targets/registry.h"

namespace isthmus::correct_biases_test {
namespace {

double mean(const std::optional<Tensor>& tensor) {
  const auto numbers = tensor->data<float>();
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

// Most of what the layer makes lies far below the clamp behind it, where quantized values saturate; a mean of that
// would move the bias far away.
TEST(CorrectBiases, CountWhatIsSeenBehindAClamp) {
  const Graph graph = test::graph_of(R"(graph
  const %w : f32[2,2,1,1] = [0.51,-0.233,0.127,0.301]
  const %b : f32[2] = [-3.0,-0.1]
  input %x : f32[1,2,16,16]
  %y = conv2d(%x, %w, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,16,16]
  %r = clamp(%y) min=0.0 : f32[1,2,16,16]
  return %r
)");
  test::Chance chance(7);
  std::vector<std::vector<Tensor>> samples(4);
  for (auto& sample : samples) {
    Tensor image(DType::kF32, {1, 2, 16, 16});
    for (float& number : image.mutable_data<float>()) number = static_cast<float>(chance.real(-4, 8));
    sample = {image};
  }
  for (const char* target_name : {"xnnpack", "tosa-int", "ethos-u55-128"}) {
    for (const DType storage : find_target(target_name)->integers.storage) {
      const TargetDesc& target = *find_target(target_name);
      QuantConfig config;
      config.storage = storage;
      config.front = 0;
      config.bias_correction = BiasCorrection::kOff;
      const Statistics statistics = test::observed(graph, samples);
      Diagnostics diagnostics;
      const auto made = plan(graph, target, &statistics, config, diagnostics);
      ASSERT_TRUE(made) << made.error().text();
      auto quantized = apply(graph, *made, target, &statistics, config);
      ASSERT_TRUE(quantized) << quantized.error().text();
      const auto distance = [&] {
        double result = 0;
        for (const auto& sample : samples) {
          const auto found = interpret_integers(quantized->graph, sample, *target.integers.kernels);
          result += mean((*found)[0]) - mean((*interpret(graph, sample))[0]);
        }
        return std::abs(result);
      };
      const double before = distance();
      const auto corrected = correct_biases(graph, *quantized, target, samples);
      ASSERT_TRUE(corrected) << corrected.error().text();
      EXPECT_LE(distance(), before + 1e-3) << target.name << " " << name_of(storage);
    }
  }
}

// Rows of padding are zero behind layers without a bias. A norm behind them makes whole answers of whatever they are
// instead, so that they must stay zero, whichever way biases are corrected; a channel with a bias is corrected still.
TEST(CorrectBiases, WhatIsExactlyZeroStaysZero) {
  constexpr std::string_view kBare = "";
  constexpr std::string_view kSome = ", %b";
  for (const std::string_view bias : {kBare, kSome}) {
    const Graph graph = test::graph_of(fmt::format(R"(graph
  const %w : f32[2,3] = [0.513,-0.233,0.127,0.301,0.7071,-0.39]
  const %b : f32[2] = [0.0,0.25]
  input %x : f32[4,3]
  %p = pad(%x) before=[0,0] after=[2,0] : f32[6,3]
  %y = linear(%p, %w{}) : f32[6,2]
  return %y
)",
                                                   bias));
    test::Chance chance(7);
    std::vector<std::vector<Tensor>> samples(4);
    for (auto& sample : samples) sample = {chance.reals({4, 3}, 3, 8)};
    Statistics statistics = test::observed(graph, samples);
    statistics.values.at("p").channels[1] = TensorChannels{24, {0, 0, 0}, {8, 8, 8}, {90, 88, 85}};
    for (const char* target_name : {"xnnpack", "tosa-int", "ethos-u55-128"}) {
      const TargetDesc& target = *find_target(target_name);
      for (const BiasCorrection correction : {BiasCorrection::kAnalytic, BiasCorrection::kSequential}) {
        QuantConfig config;
        config.front = 0;
        config.bias_correction = correction;
        Diagnostics diagnostics;
        const auto made = plan(graph, target, &statistics, config, diagnostics);
        ASSERT_TRUE(made) << made.error().text();
        auto quantized = apply(graph, *made, target, &statistics, config);
        ASSERT_TRUE(quantized) << quantized.error().text();
        if (correction == BiasCorrection::kSequential) {
          ASSERT_TRUE(correct_biases(graph, *quantized, target, samples));
        }
        const auto found = interpret_integers(quantized->graph, samples[0], *target.integers.kernels);
        ASSERT_TRUE(found) << found.error().text();
        const auto numbers = (*found)[0]->data<float>();
        for (const std::size_t row : {4U, 5U}) {
          EXPECT_EQ(numbers[row * 2], 0) << target.name;
          EXPECT_EQ(numbers[row * 2 + 1] == 0, bias.empty()) << target.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace isthmus::correct_biases_test
