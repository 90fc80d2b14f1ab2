// Integer kernels: arithmetic on pairs of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpret/kernels/elementwise.h"
#include "interpret/quantized_types.h"
#include "targets/xnnpack/integers/integer_kernels.h"
#include "targets/xnnpack/integers/requantize.h"

namespace isthmus::xnnpack {
namespace {

// out = calculate(a, b), quantized values as they are.
template <class Calculate>
Expected<Tensor> map_quantized_pairs(const IntegerContext& context, Calculate calculate) {
  Tensor result = context.plain.result();
  TRY((map_pairs<std::int8_t, std::int8_t>(context.plain, result, [&](std::int8_t a, std::int8_t b) {
    return static_cast<std::int8_t>(calculate(std::int32_t{a}, std::int32_t{b}));
  })));
  return result;
}

// Both ratios in units of 2^-shift, so that the larger has 21 bits; one shift, halves up.
struct FixedSum {
  std::int64_t a = 0;
  std::int64_t b = 0;
  int shift = 1;
};
FixedSum fixed_sum(float a_ratio, float b_ratio, bool is_difference) {
  const int shift = 20 - std::ilogb(std::max(a_ratio, b_ratio));
  const std::int64_t b = std::lrint(std::ldexp(b_ratio, shift));
  return {std::lrint(std::ldexp(a_ratio, shift)), is_difference ? -b : b, shift};
}

template <bool kIsDifference>
Expected<Tensor> sum_quantized(const IntegerContext& context) {
  const Quant& a = context.quant(0);
  const Quant& b = context.quant(1);
  const Quant& to = context.quant();
  const QuantizedRange range = quantized_range(context.plain.dtype);
  const FixedSum sum = fixed_sum(a.scale() / to.scale(), b.scale() / to.scale(), kIsDifference);
  const std::int64_t bias =
      (std::int64_t{1} << (sum.shift - 1)) - sum.a * std::int64_t{a.zero_point} - sum.b * std::int64_t{b.zero_point};
  return map_quantized_pairs(context, [&](std::int32_t x, std::int32_t y) {
    const std::int64_t q = ((x * sum.a + y * sum.b + bias) >> sum.shift) + to.zero_point;
    return std::clamp<std::int64_t>(q, range.min, range.max);
  });
}

// Outside of these limits the library aborts.
std::optional<std::string> refuse_sum(const IntegerSite& site) {
  for (std::size_t i = 0; i < 2; ++i) {
    const float ratio = site.quant(i).scale() / site.quant().scale();
    if (!(ratio >= 0x1p-10f && ratio < 0x1p8f)) return fmt::format("a ratio of scales of {}", ratio);
  }
  return std::nullopt;
}

float product_factor(const Quant& a, const Quant& b, const Quant& result) {
  return a.scale() * b.scale() / result.scale();
}

Expected<Tensor> multiply_quantized(const IntegerContext& context) {
  const Quant& a = context.quant(0);
  const Quant& b = context.quant(1);
  const Requantizer requantizer(product_factor(a, b, context.quant()), context.plain.dtype, context.quant().zero_point);
  return map_quantized_pairs(context, [&](std::int32_t x, std::int32_t y) {
    return requantizer(std::int64_t{x - a.zero_point} * std::int64_t{y - b.zero_point});
  });
}

std::optional<std::string> refuse_product(const IntegerSite& site) {
  const float factor = product_factor(site.quant(0), site.quant(1), site.quant());
  if (factor >= 0x1p-16f && factor < 0x1p8f) return std::nullopt;
  return fmt::format("products would be multiplied by {}", factor);
}

constexpr IntegerKernelRow kBinaryKernels[] = {
    {.op = Op::kAdd, .kernel = sum_quantized<false>, .refusal = refuse_sum},
    {.op = Op::kSub, .kernel = sum_quantized<true>, .refusal = refuse_sum},
    {.op = Op::kMul, .kernel = multiply_quantized, .refusal = refuse_product},
};

}  // namespace

std::span<const IntegerKernelRow> integer_binary_kernels() { return kBinaryKernels; }

}  // namespace isthmus::xnnpack
