// Sums of products of quantized values, and what linear layers, products and convolutions have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interpret/integer_kernel.h"
#include "targets/xnnpack/integers/requantize.h"

namespace isthmus::xnnpack {

// Quantized values less their zero point, which need 9 bits. Rows are padded with zeros to whole vectors, so that
// compilers need no loop for the rest.
struct Int8Rows {
  Int8Rows(std::int64_t count, std::int64_t depth)
      : stride((depth + 15) & ~std::int64_t{15}), numbers(static_cast<std::size_t>(count * stride), 0) {}

  std::int16_t* row(std::int64_t i) { return numbers.data() + i * stride; }
  const std::int16_t* row(std::int64_t i) const { return numbers.data() + i * stride; }

  std::int64_t stride;
  std::vector<std::int16_t> numbers;
};

// The sum of a[k] * b[k]; the count is that of a padded row.
std::int64_t dot(const std::int16_t* a, const std::int16_t* b, std::int64_t count);

// quantized[i * step] less the zero point
void center(const Tensor& quantized, std::int64_t first, std::int64_t step, std::int64_t count, std::int32_t zero_point,
            std::int16_t* to);

// The scale of each result channel; place(channel) is its place among the weight's scales, where it has several.
template <class Place>
std::vector<float> channel_scales(const Quant& weight, std::int64_t channels, Place place) {
  std::vector<float> scales;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    scales.push_back(weight.axis < 0 ? weight.scale() : weight.scales[static_cast<std::size_t>(place(channel))]);
  }
  return scales;
}

// One for each result channel of a layer with inputs x, weight and an optional bias.
std::vector<Requantizer> layer_requantizers(const IntegerContext& context, std::span<const float> scales);

// The bias of each channel; zeros where there is none.
std::vector<std::int64_t> layer_bias(const IntegerContext& context, std::int64_t channels);

// Of layers whose weights have one scale for each slice of axis 0.
std::optional<std::string> refuse_layer(const IntegerSite& site);
std::optional<std::string> refuse_transposed_layer(const IntegerSite& site);

// Rows of floats with quantized weights. To about 1e-5 of the result's range what the library computes: rounding of a
// row's quantized values is exact, of the scales not.
Expected<Tensor> linear_of_rows(const IntegerContext& context);
Expected<Tensor> convolve_quantized(const IntegerContext& context);
Expected<Tensor> spread_values(const IntegerContext& context);

}  // namespace isthmus::xnnpack
