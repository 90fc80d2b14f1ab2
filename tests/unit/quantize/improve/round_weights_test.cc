// Moments of what layers read against the layers' own results, and weights that are rounded by them.
#include "quantize/improve/round_weights.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "interpret/interpreter.h"
#include "quantize/improve/input_moments.h"
#include "support/quantized_graphs.h"
#include "support/quantized_tensors.h"

namespace isthmus::round_weights_test {
namespace {

std::string random_numbers(test::Chance& chance, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += fmt::format("{}{:.4f}", i == 0 ? "" : ",", chance.real(-1, 1));
  return text;
}

struct Layer {
  std::string_view text;  // of %y = layer(%x, %w)
  std::vector<std::int64_t> input;
  std::string_view weights;  // shape
  std::size_t count;         // of weights
  std::size_t channel_axis;
};

// The power of what a layer makes of its inputs is what the moments say, and so is its mean.
TEST(InputMoments, GiveThePowerOfTheResult) {
  const Layer layers[] = {
      {"%y = linear(%x, %w) : f32[3,4,6]", {3, 4, 5}, "6,5", 30, 2},
      {"%y = conv2d(%x, %w) stride=[1,2] padding=[0,0,1,0] dilation=[1,1] : f32[2,3,1,4]",
       {2, 2, 1, 9},
       "3,2,1,3",
       18,
       1},
      {"%y = conv2d(%x, %w) stride=[1,2] padding=[1,1,0,2] dilation=[1,2] : f32[1,4,5,4]",
       {1, 3, 5, 9},
       "4,3,3,3",
       108,
       1},
      {"%y = conv2d(%x, %w) stride=[1,1] padding=[1,1,1,1] dilation=[1,1] groups=2 : f32[1,6,4,4]",
       {1, 4, 4, 4},
       "6,2,3,3",
       108,
       1},
  };
  test::Chance chance(5);
  for (const Layer& layer : layers) {
    const std::vector<std::int64_t>& sizes = layer.input;
    const Graph graph = test::graph_of(
        fmt::format("graph\n  const %w : f32[{}] = [{}]\n  input %x : f32[{}]\n  {}\n  return %y\n", layer.weights,
                    random_numbers(chance, layer.count), fmt::join(sizes, ","), layer.text));
    std::vector<std::vector<Tensor>> samples;
    for (int i = 0; i < 5; ++i) samples.push_back({chance.reals(sizes, -1, 2)});
    const auto moments = input_moments(graph, samples);
    ASSERT_TRUE(moments) << moments.error().text();
    ASSERT_TRUE(moments->contains("y")) << layer.text;
    const LayerMoments& found = moments->at("y");
    const Tensor weights = Tensor::from(*graph.constant(*graph.find("w"))->data);
    const auto channels = static_cast<std::size_t>(weights.size(0));
    ASSERT_EQ(found.length * channels, layer.count);
    std::vector<double> powers(channels), means(channels);
    double count = 0;
    for (const auto& sample : samples) {
      const auto result = interpret(graph, sample);
      ASSERT_TRUE(result) << result.error().text();
      const Tensor& y = *(*result)[0];
      std::size_t inner = 1;
      for (std::size_t i = layer.channel_axis + 1; i < y.sizes().size(); ++i) {
        inner *= static_cast<std::size_t>(y.sizes()[i]);
      }
      for (std::size_t i = 0; i < y.data<float>().size(); ++i) {
        const auto number = static_cast<double>(y.data<float>()[i]);
        powers[i / inner % channels] += number * number;
        means[i / inner % channels] += number;
      }
      count += static_cast<double>(y.count()) / static_cast<double>(channels);
    }
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t group = c / (channels / found.groups);
      const auto own = weights.data<float>().subspan(c * found.length, found.length);
      double power = 0;
      double mean = 0;
      for (std::size_t i = 0; i < found.length; ++i) {
        mean += static_cast<double>(own[i]) * found.means[group * found.length + i];
        for (std::size_t j = 0; j < found.length; ++j) {
          power += static_cast<double>(own[i]) * static_cast<double>(own[j]) *
                   found.products[(group * found.length + i) * found.length + j];
        }
      }
      EXPECT_NEAR(power, powers[c] / count, 1e-4 * (1 + powers[c] / count)) << layer.text;
      EXPECT_NEAR(mean, means[c] / count, 1e-4) << layer.text;
    }
  }
}

LayerMoments moments_of(std::size_t length, std::size_t samples, const std::function<double(std::size_t)>& number) {
  const Graph graph =
      test::graph_of(fmt::format("graph\n  const %w : f32[1,{0}] = [{1}]\n  input %x : f32[1,{0}]\n  %y = linear(%x, "
                                 "%w) : f32[1,1]\n  return %y\n",
                                 length, fmt::join(std::vector<double>(length, 1.0), ",")));
  std::vector<std::vector<Tensor>> rows;
  for (std::size_t s = 0; s < samples; ++s) {
    Tensor row(DType::kF32, {1, static_cast<std::int64_t>(length)});
    for (std::size_t i = 0; i < length; ++i) row.mutable_data<float>()[i] = static_cast<float>(number(i));
    rows.push_back({row});
  }
  return input_moments(graph, rows)->at("y");
}

TEST(InputMoments, AreTrustedByHowMuchSamplesAgree) {
  test::Chance chance(3);
  EXPECT_DOUBLE_EQ(moments_of(4, 4, [](std::size_t i) { return static_cast<double>(i) + 1; }).trust, 1);
  // Independent numbers, few samples: what pairs have in common is chance.
  EXPECT_LT(moments_of(64, 8, [&](std::size_t) { return chance.real(-1, 1); }).trust, 0.2);
}

double power_of(const std::vector<double>& form, std::span<const float> weights, double scale,
                std::span<const std::int8_t> quantized) {
  double power = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double a = quantized[i] * scale - static_cast<double>(weights[i]);
      const double b = quantized[j] * scale - static_cast<double>(weights[j]);
      power += a * b * form[i * weights.size() + j];
    }
  }
  return power;
}

TEST(RoundTogether, LowersTheErrorOfTheResult) {
  test::Chance chance(11);
  constexpr std::size_t kLength = 24;
  constexpr double kScale = 1.0 / 127;
  // Neighbours have most of their numbers in common.
  double common = 0;
  const LayerMoments moments = moments_of(kLength, 64, [&](std::size_t i) {
    if (i % 4 == 0) common = chance.real(-1, 1);
    return common + chance.real(-0.1, 0.1);
  });
  const std::vector<double> form = error_form(moments, 0, {});
  double nearest = 0;
  double together = 0;
  for (int channel = 0; channel < 16; ++channel) {
    std::vector<float> weights;
    std::vector<std::int8_t> quantized;
    for (std::size_t i = 0; i < kLength; ++i) {
      weights.push_back(static_cast<float>(chance.real(-1, 1)));
      quantized.push_back(static_cast<std::int8_t>(std::nearbyint(static_cast<double>(weights.back()) / kScale)));
    }
    const double before = power_of(form, weights, kScale, quantized);
    round_together(weights, kScale, form, 127, quantized);
    const double after = power_of(form, weights, kScale, quantized);
    EXPECT_LE(after, before * (1 + 1e-9));
    nearest += before;
    together += after;
    for (const std::int8_t q : quantized) EXPECT_GE(q, -127);
  }
  EXPECT_LT(together, nearest / 2);
}

// What the bias makes up for costs nothing: with all inputs at their means, no weight needs to move.
TEST(RoundTogether, LeavesMeansToTheBias) {
  const LayerMoments moments = moments_of(4, 4, [](std::size_t) { return 1.0; });
  const std::vector<double> means(4, 1.0);
  for (const double entry : error_form(moments, 0, means)) EXPECT_NEAR(entry, 0, 1e-12);
  for (const double entry : error_form(moments, 0, {})) EXPECT_NEAR(entry, 1, 1e-12);
}

}  // namespace
}  // namespace isthmus::round_weights_test
