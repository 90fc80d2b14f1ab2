// Integer kernels of matrix products, and what they share with convolutions.
#include "targets/xnnpack/integers/product.h"

#include <fmt/format.h>

#include <algorithm>

#include "interpret/quantized_types.h"
#include "targets/xnnpack/integers/integer_kernels.h"

namespace isthmus::xnnpack {

std::int64_t dot(const std::int16_t* a, const std::int16_t* b, std::int64_t count) {
  std::int64_t total = 0;
  // Products of 255 * 255: few enough that their sum stays within 32 bits.
  constexpr std::int64_t kPart = 32768;
  for (std::int64_t first = 0; first < count; first += kPart) {
    const std::int64_t length = std::min(kPart, count - first) & ~std::int64_t{15};
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < length; ++k) sum += std::int32_t{a[first + k]} * std::int32_t{b[first + k]};
    total += sum;
  }
  return total;
}

void center(const Tensor& quantized, std::int64_t first, std::int64_t step, std::int64_t count, std::int32_t zero_point,
            std::int16_t* to) {
  with_quantized_type(quantized.dtype(), [&]<class Int>(Int) {
    const Int* from = quantized.data<Int>().data() + first;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<std::int16_t>(std::int32_t{from[i * step]} - zero_point);
    }
  });
}

std::vector<Requantizer> layer_requantizers(const IntegerContext& context, std::span<const float> scales) {
  std::vector<Requantizer> result;
  for (const float scale : scales) {
    const float factor = context.quant(0).scale() * scale / context.quant().scale();
    result.emplace_back(factor, context.plain.dtype, context.quant().zero_point);
  }
  return result;
}

std::vector<std::int64_t> layer_bias(const IntegerContext& context, std::int64_t channels) {
  std::vector<std::int64_t> bias(static_cast<std::size_t>(channels), 0);
  if (!context.has_input(2)) return bias;
  dispatch(context.input(2).dtype(), [&]<class Number>(Number) {
    const auto numbers = context.input(2).data<Number>();
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<std::int64_t>(numbers[i]);
  });
  return bias;
}

namespace {

std::optional<std::string> refuse_factors(const IntegerSite& site) {
  // The library refuses larger ones.
  constexpr float kMaxFactor = 256;
  for (const float scale : site.quant(1).scales) {
    const float factor = site.quant(0).scale() * scale / site.quant().scale();
    if (!(factor < kMaxFactor)) return fmt::format("sums would be multiplied by {}", factor);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refuse_layer(const IntegerSite& site) {
  if (site.quant(1).axis > 0) return fmt::format("a weight with scales along axis {}", site.quant(1).axis);
  return refuse_factors(site);
}

std::optional<std::string> refuse_transposed_layer(const IntegerSite& site) {
  const Quant& quant = site.quant(1);
  if (quant.axis > 1) return fmt::format("a weight with scales along axis {}", quant.axis);
  // Along the inputs a scale may change only from group to group.
  const auto groups = static_cast<std::size_t>(site.as<ConvTransposeAttrs>().groups);
  for (std::size_t i = 0; quant.axis == 0 && i < quant.scales.size(); ++i) {
    const std::size_t per_group = quant.scales.size() / groups;
    if (quant.scales[i] != quant.scales[i / per_group * per_group]) return "inputs of one group with several scales";
  }
  return refuse_factors(site);
}

namespace {

Expected<Tensor> linear_quantized(const IntegerContext& context) {
  if (!context.type().quant) return linear_of_rows(context);
  Tensor result = context.plain.result();
  const Tensor& weight = context.input(1);
  const std::int64_t columns = weight.size(0);
  const std::int64_t depth = weight.size(1);
  if (result.count() == 0) return result;
  const std::int64_t rows = result.count() / columns;
  const auto requantizers =
      layer_requantizers(context, channel_scales(context.quant(1), columns, [](std::int64_t j) { return j; }));
  const std::vector<std::int64_t> bias = layer_bias(context, columns);
  Int8Rows weights(columns, depth);
  for (std::int64_t j = 0; j < columns; ++j) {
    center(weight, j * depth, 1, depth, context.quant(1).zero_point, weights.row(j));
  }
  Int8Rows numbers(1, depth);
  with_quantized_type(context.plain.dtype, [&]<class Int>(Int) {
    Int* out = result.mutable_data<Int>().data();
    for (std::int64_t i = 0; i < rows; ++i) {
      center(context.input(0), i * depth, 1, depth, context.quant(0).zero_point, numbers.row(0));
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto channel = static_cast<std::size_t>(j);
        const std::int64_t sum = dot(numbers.row(0), weights.row(j), weights.stride) + bias[channel];
        *out++ = static_cast<Int>(requantizers[channel](sum));
      }
    }
  });
  return result;
}

constexpr IntegerKernelRow kProductKernels[] = {
    {.op = Op::kLinear, .kernel = linear_quantized, .holds = Holds::kEither, .refusal = refuse_layer},
    {.op = Op::kConv2d, .kernel = convolve_quantized, .refusal = refuse_layer},
    {.op = Op::kConvTranspose2d, .kernel = spread_values, .refusal = refuse_transposed_layer},
};

}  // namespace

std::span<const IntegerKernelRow> integer_product_kernels() { return kProductKernels; }

}  // namespace isthmus::xnnpack
