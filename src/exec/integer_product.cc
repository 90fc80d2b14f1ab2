// Integer kernels of matrix products, and what they share with convolutions.
#include "exec/integer_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "exec/batches.h"
#include "exec/integer_codes.h"

namespace isthmus {

Widths widths_of(DType a, DType b) {
  if (a == DType::kI16 && b == DType::kI16) return Widths::k16x16;
  return a == DType::kI16 || b == DType::kI16 ? Widths::k16x8 : Widths::k8x8;
}

int sum_bits(Widths widths) { return widths == Widths::k8x8 ? 32 : 48; }

std::int64_t dot(const std::int16_t* a, const std::int16_t* b, std::int64_t count, Widths widths) {
  std::int64_t total = 0;
  if (widths == Widths::k16x16) {
    for (std::int64_t k = 0; k < count; ++k) total += std::int64_t{a[k]} * std::int64_t{b[k]};
    return total;
  }
  // So many products of 255 * 255, or of 32768 * 255, that their sum stays within 32 bits.
  const std::int64_t part = widths == Widths::k8x8 ? 32768 : 256;
  for (std::int64_t first = 0; first < count; first += part) {
    const std::int64_t length = std::min(part, count - first) & ~std::int64_t{15};
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < length; ++k) sum += std::int32_t{a[first + k]} * std::int32_t{b[first + k]};
    total += sum;
  }
  return total;
}

void center(const Tensor& codes, std::int64_t first, std::int64_t step, std::int64_t count, std::int32_t zero_point,
            std::int16_t* to) {
  with_codes(codes.dtype(), [&]<class Code>(Code) {
    const Code* from = codes.data<Code>().data() + first;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<std::int16_t>(std::int32_t{from[i * step]} - zero_point);
    }
  });
}

Expected<std::vector<Requantizer>> layer_requantizers(const IntegerContext& context, std::span<const float> scales) {
  const int bits = sum_bits(widths_of(context.type(0).dtype, context.type(1).dtype));
  std::vector<Requantizer> result;
  for (const float scale : scales) {
    const Factor factor = product_factor(context.quant(0).scale(), scale, context.quant().scale());
    const auto requantizer =
        Requantizer::make(context.arithmetic, factor, bits, context.plain.dtype, context.quant().zero_point);
    if (!requantizer) return bad_input(fmt::format("a ratio of scales of {}", factor.exact));
    result.push_back(*requantizer);
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
  constexpr float kMostFactor = 256;
  const bool is_wide = widths_of(site.type(0).dtype, site.type(1).dtype) != Widths::k8x8;
  for (const float scale : site.quant(1).scales) {
    const Factor factor = product_factor(site.quant(0).scale(), scale, site.quant().scale());
    const bool is_legal = site.arithmetic == Arithmetic::kXnnpack
                              ? factor.rounded < kMostFactor
                              : multiplier_of(factor.exact, is_wide ? ScaleBits::k15 : ScaleBits::k31).has_value();
    if (!is_legal) return fmt::format("sums would be multiplied by {}", factor.exact);
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

Expected<Tensor> linear_codes(const IntegerContext& context) {
  Tensor result = context.plain.result();
  const Tensor& weight = context.input(1);
  const std::int64_t columns = weight.size(0);
  const std::int64_t depth = weight.size(1);
  if (result.count() == 0) return result;
  const std::int64_t rows = result.count() / columns;
  const auto requantizers =
      TRY(layer_requantizers(context, channel_scales(context.quant(1), columns, [](std::int64_t j) { return j; })));
  const std::vector<std::int64_t> bias = layer_bias(context, columns);
  const Widths widths = widths_of(context.input(0).dtype(), weight.dtype());
  CodeRows weights(columns, depth);
  for (std::int64_t j = 0; j < columns; ++j) {
    center(weight, j * depth, 1, depth, context.quant(1).zero_point, weights.row(j));
  }
  CodeRows numbers(1, depth);
  with_codes(context.plain.dtype, [&]<class Code>(Code) {
    Code* out = result.mutable_data<Code>().data();
    for (std::int64_t i = 0; i < rows; ++i) {
      center(context.input(0), i * depth, 1, depth, context.quant(0).zero_point, numbers.row(0));
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto channel = static_cast<std::size_t>(j);
        const std::int64_t sum = dot(numbers.row(0), weights.row(j), weights.stride, widths) + bias[channel];
        *out++ = static_cast<Code>(requantizers[channel](sum));
      }
    }
  });
  return result;
}

Expected<Tensor> matmul_codes(const IntegerContext& context) {
  Tensor result = context.plain.result();
  if (result.count() == 0) return result;
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const std::int64_t rows = a.size(a.rank() - 2);
  const std::int64_t depth = a.size(a.rank() - 1);
  const std::int64_t columns = b.size(b.rank() - 1);
  const Widths widths = widths_of(a.dtype(), b.dtype());
  const Requantizer requantizer = TRY(layer_requantizers(context, std::array{context.quant(1).scale()}))[0];
  const auto a_places = batch_places(batch_of(a), batch_of(result));
  const auto b_places = batch_places(batch_of(b), batch_of(result));
  CodeRows left(1, depth);
  CodeRows right(columns, depth);
  with_codes(context.plain.dtype, [&]<class Code>(Code) {
    Code* out = result.mutable_data<Code>().data();
    for (std::size_t i = 0; i < a_places.size(); ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        center(b, b_places[i] * depth * columns + j, columns, depth, context.quant(1).zero_point, right.row(j));
      }
      for (std::int64_t row = 0; row < rows; ++row) {
        center(a, (a_places[i] * rows + row) * depth, 1, depth, context.quant(0).zero_point, left.row(0));
        for (std::int64_t j = 0; j < columns; ++j) {
          *out++ = static_cast<Code>(requantizer(dot(left.row(0), right.row(j), right.stride, widths)));
        }
      }
    }
  });
  return result;
}

}  // namespace

std::span<const IntegerKernelDef> integer_product_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kLinear, .kernel = linear_codes, .refusal = refuse_layer},
      {.op = Op::kConv2d, .kernel = convolve_codes, .refusal = refuse_layer},
      {.op = Op::kConvTranspose2d, .kernel = spread_codes, .refusal = refuse_transposed_layer},
      {.op = Op::kMatmul, .kernel = matmul_codes, .in_xnnpack = false, .refusal = refuse_factors},
  };
  return kKernels;
}

}  // namespace isthmus
