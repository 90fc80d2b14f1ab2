// Integer kernels: arithmetic on pairs of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "exec/elementwise.h"
#include "exec/integer_codes.h"
#include "exec/integer_kernel.h"
#include "exec/integer_requantize.h"

namespace isthmus {
namespace {

// out = calculate(a, b), codes as they are.
template <class Calculate>
Expected<Tensor> map_code_pairs(const IntegerContext& context, Calculate calculate) {
  Tensor result = context.plain.result();
  TRY(with_codes(context.input(0).dtype(), [&]<class In>(In) {
    return with_codes(context.plain.dtype, [&]<class Out>(Out) {
      return map_pairs<In, Out>(context.plain, result, [&](In a, In b) {
        return static_cast<Out>(calculate(std::int32_t{a}, std::int32_t{b}));
      });
    });
  }));
  return result;
}

// XNNPACK: both ratios in units of 2^-shift, so that the larger has 21 bits; one shift, halves up.
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
Expected<Tensor> sum_codes(const IntegerContext& context) {
  const Quant& a = context.quant(0);
  const Quant& b = context.quant(1);
  const Quant& to = context.quant();
  const CodeRange range = code_range(context.plain.dtype);
  const FixedSum sum = fixed_sum(a.scale() / to.scale(), b.scale() / to.scale(), kIsDifference);
  const std::int64_t bias =
      (std::int64_t{1} << (sum.shift - 1)) - sum.a * std::int64_t{a.zero_point} - sum.b * std::int64_t{b.zero_point};
  return map_code_pairs(context, [&](std::int32_t x, std::int32_t y) {
    const std::int64_t code = ((x * sum.a + y * sum.b + bias) >> sum.shift) + to.zero_point;
    return std::clamp<std::int64_t>(code, range.min, range.max);
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

Expected<Tensor> multiply_codes(const IntegerContext& context) {
  const Quant& a = context.quant(0);
  const Quant& b = context.quant(1);
  const Factor factor = product_factor(a.scale(), b.scale(), context.quant().scale());
  const auto requantizer =
      Requantizer::make(context.arithmetic, factor, 32, context.plain.dtype, context.quant().zero_point);
  if (!requantizer) return bad_input(fmt::format("a ratio of scales of {}", factor.exact));
  return map_code_pairs(context, [&](std::int32_t x, std::int32_t y) {
    return (*requantizer)(std::int64_t{x - a.zero_point} * std::int64_t{y - b.zero_point});
  });
}

std::optional<std::string> refuse_product(const IntegerSite& site) {
  const Factor factor = product_factor(site.quant(0).scale(), site.quant(1).scale(), site.quant().scale());
  const bool is_legal = site.arithmetic == Arithmetic::kXnnpack
                            ? factor.rounded >= 0x1p-16f && factor.rounded < 0x1p8f
                            : multiplier_of(factor.exact, ScaleBits::k31).has_value();
  if (is_legal) return std::nullopt;
  return fmt::format("products would be multiplied by {}", factor.exact);
}

}  // namespace

std::span<const IntegerKernelDef> integer_binary_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kAdd, .kernel = sum_codes<false>, .in_tosa = false, .refusal = refuse_sum},
      {.op = Op::kSub, .kernel = sum_codes<true>, .in_tosa = false, .refusal = refuse_sum},
      {.op = Op::kMul, .kernel = multiply_codes, .refusal = refuse_product},
  };
  return kKernels;
}

}  // namespace isthmus
