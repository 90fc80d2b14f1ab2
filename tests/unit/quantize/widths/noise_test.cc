// What the model says of noise against noise that was measured.
#include "quantize/widths/noise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "interpret/interpreter.h"
#include "quantize/config/config.h"
#include "support/quantized_graphs.h"
#include "support/quantized_tensors.h"
#include "support/random_quant_model.h"

namespace isthmus::noise_test {
namespace {

constexpr double kNoise = 1e-3;

double power_of(std::span<const float> numbers) {
  double sum = 0;
  for (const float number : numbers) sum += static_cast<double>(number) * static_cast<double>(number);
  return sum / static_cast<double>(numbers.size());
}

// Each graph has one input, in which there is noise.
TEST(Noise, IsAsTheModelSays) {
  const std::string_view texts[] = {
      "%y = add(%x, %c) : f32[4,16,16]",
      "%y = mul(%x, %c) : f32[4,16,16]",
      "%y = matmul(%x, %c) : f32[4,16,16]",
      "%y = matmul(%c, %x) : f32[4,16,16]",
      "%y = linear(%x, %w) : f32[4,16,16]",
      "%y = softmax(%x) axis=2 : f32[4,16,16]",
      "%y = mean(%x) axes=[1] keepdim=true : f32[4,1,16]",
      "%y = sum(%x) axes=[1,2] keepdim=true : f32[4,1,1]",
      "%y = clamp(%x) min=0 max=inf : f32[4,16,16]",
      "%y = tanh(%x) : f32[4,16,16]",
      "%y = layer_norm(%x) axes=1 : f32[4,16,16]",
      "%y = cat(%x, %c) axis=1 : f32[4,32,16]",
      "%t = permute(%x) axes=[0,2,1] : f32[4,16,16]\n  %y = linear(%t, %w) : f32[4,16,16]",
  };
  for (const std::string_view text : texts) {
    test::Chance chance(7);
    std::string numbers;
    for (int i = 0; i < 256; ++i) numbers += fmt::format("{}{:.4f}", i == 0 ? "" : ",", chance.real(-1, 1));
    const Graph graph = test::graph_of(fmt::format(R"(graph
  const %w : f32[16,16] = [{}]
  input %x : f32[4,16,16]
  input %c : f32[4,16,16]
  {}
  return %y
)",
                                                   numbers, text));
    const std::vector<Tensor> inputs{chance.reals({4, 16, 16}, -2, 2), chance.reals({4, 16, 16}, -1, 3)};
    const Statistics statistics = test::observed(graph, {inputs});
    Diagnostics diagnostics;
    const QuantConfig config;
    const auto settings = settings_of(graph, config, diagnostics);
    const std::vector<DType> storage(graph.values().size(), DType::kI8);
    const Pins pins;
    Ranges ranges(graph, &statistics, settings, storage, pins);
    const NoiseModel model = NoiseModel::of(graph, ranges);

    const Tensor noise = chance.reals({4, 16, 16}, -kNoise, kNoise);
    std::vector<Tensor> noisy{Tensor(DType::kF32, {4, 16, 16}), inputs[1]};
    for (std::size_t i = 0; i < noise.data<float>().size(); ++i) {
      noisy[0].mutable_data<float>()[i] = inputs[0].data<float>()[i] + noise.data<float>()[i];
    }
    const auto wanted = interpret(graph, inputs);
    const auto found = interpret(graph, noisy);
    ASSERT_TRUE(wanted && found) << text;
    std::vector<float> difference((*wanted)[0]->data<float>().begin(), (*wanted)[0]->data<float>().end());
    const double signal = power_of(difference);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= (*found)[0]->data<float>()[i];
    const double measured = power_of(difference) / signal / power_of(noise.data<float>());
    const double said = model.of_value(*graph.find("x"))[0];
    EXPECT_LT(said, 3 * measured) << text;
    EXPECT_GT(said, measured / 3) << text;
  }
}

}  // namespace
}  // namespace isthmus::noise_test
