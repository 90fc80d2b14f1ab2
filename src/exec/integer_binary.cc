// Integer kernels: arithmetic on pairs of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>

#include "exec/elementwise.h"
#include "exec/integer_codes.h"
#include "exec/integer_kernel.h"
#include "exec/integer_requantize.h"
#include "exec/integer_steps.h"

namespace isthmus {
namespace {

// The same codes in 16 bits.
Tensor in_16_bits(const Tensor& codes) {
  if (codes.dtype() == DType::kI16) return codes;
  Tensor result(DType::kI16, codes.sizes());
  std::ranges::copy(codes.data<std::int8_t>(), result.mutable_data<std::int16_t>().begin());
  return result;
}

// What `map` makes of a pair of codes as they are, of one width: where they have two, the wider.
template <class Out, class Map>
Expected<Tensor> map_widened(const IntegerContext& context, Map map) {
  Tensor result = context.plain.result();
  KernelContext plain = context.plain;
  std::vector<Tensor> alike;
  if (context.input(0).dtype() != context.input(1).dtype()) {
    alike = {in_16_bits(context.input(0)), in_16_bits(context.input(1))};
    plain.inputs = alike;
  }
  TRY(with_codes(plain.inputs[0].dtype(), [&]<class In>(In) {
    return map_pairs<In, Out>(plain, result,
                              [&](In a, In b) { return static_cast<Out>(map(std::int32_t{a}, std::int32_t{b})); });
  }));
  return result;
}

// out = calculate(a, b), codes as they are.
template <class Calculate>
Expected<Tensor> map_code_pairs(const IntegerContext& context, Calculate calculate) {
  return with_codes(context.plain.dtype, [&]<class Out>(Out) { return map_widened<Out>(context, calculate); });
}

DType wider_input(const IntegerSite& site) { return wider(site.type(0).dtype, site.type(1).dtype); }
DType wider_input(const IntegerContext& context) { return wider(context.type(0).dtype, context.type(1).dtype); }

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
Expected<Tensor> fixed_sum_codes(const IntegerContext& context) {
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

// TOSA: RESCALE of both sides to 32 bits in one scale, the operator, RESCALE to the result's codes.
template <class Operator>
Expected<Tensor> common_scale_codes(const IntegerContext& context) {
  const Quant& a = context.quant(0);
  const Quant& b = context.quant(1);
  const CommonScale common = *common_scale(a.scale(), b.scale(), wider_input(context));
  const Factor factor{1, common.unit / static_cast<double>(context.quant().scale())};
  const auto requantizer =
      *Requantizer::make(context.arithmetic, factor, 32, context.plain.dtype, context.quant().zero_point);
  return map_code_pairs(context, [&](std::int32_t x, std::int32_t y) {
    const std::int64_t left = common.a.apply(x - a.zero_point);
    const std::int64_t right = common.b.apply(y - b.zero_point);
    return requantizer(Operator::apply(left, right));
  });
}
struct WideSum {
  static std::int64_t apply(std::int64_t a, std::int64_t b) { return a + b; }
};
struct WideDifference {
  static std::int64_t apply(std::int64_t a, std::int64_t b) { return a - b; }
};
struct WideMinimum {
  static std::int64_t apply(std::int64_t a, std::int64_t b) { return std::min(a, b); }
};
struct WideMaximum {
  static std::int64_t apply(std::int64_t a, std::int64_t b) { return std::max(a, b); }
};

template <bool kIsDifference>
Expected<Tensor> sum_codes(const IntegerContext& context) {
  if (context.arithmetic == Arithmetic::kXnnpack) return fixed_sum_codes<kIsDifference>(context);
  return common_scale_codes<std::conditional_t<kIsDifference, WideDifference, WideSum>>(context);
}

// The same in front of a comparison, whose result needs no scale.
template <class Compare>
Expected<Tensor> compare_codes(const IntegerContext& context) {
  const Quant& a = context.quant(0);
  const Quant& b = context.quant(1);
  const CommonScale common = *common_scale(a.scale(), b.scale(), wider_input(context));
  return map_widened<std::uint8_t>(context, [&](std::int32_t x, std::int32_t y) {
    const std::int64_t left = common.a.apply(x - a.zero_point);
    const std::int64_t right = common.b.apply(y - b.zero_point);
    return Compare()(left, right) ? 1 : 0;
  });
}

std::optional<std::string> refuse_pair(const IntegerSite& site) {
  if (common_scale(site.quant(0).scale(), site.quant(1).scale(), wider_input(site))) return std::nullopt;
  return "scales too far apart";
}
std::optional<std::string> refuse_common_scale(const IntegerSite& site) {
  if (auto reason = refuse_pair(site)) return reason;
  const CommonScale common = *common_scale(site.quant(0).scale(), site.quant(1).scale(), wider_input(site));
  const double factor = common.unit / static_cast<double>(site.quant().scale());
  if (multiplier_of(factor, ScaleBits::k31)) return std::nullopt;
  return fmt::format("sums would be multiplied by {}", factor);
}

// Outside of these limits the library aborts.
std::optional<std::string> refuse_sum(const IntegerSite& site) {
  if (site.arithmetic == Arithmetic::kTosa) return refuse_common_scale(site);
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

// TOSA: the reciprocal of the divisor's mantissa by a table; only the last step rounds to codes.
//   x = RESCALE(a), z = RESCALE(b): 32 bits, zero points removed; sign = MIN(MAX(2 * z + 1, -1), 1)
//   w = MAX(ABS(z), 1): of zero it is the smallest divisor that there is, so that quotients are large
//   n = CLZ(w); r = TABLE16(RESCALE_i16((w << (n - 1)) - 3 * 2^29, 2^-14)) + 3 * 2^22: 24 bits of fraction
//   q = MUL(x * sign, r, product_shift) >> (31 - n), rounded; y = RESCALE(q)
Expected<Tensor> divide_codes(const IntegerContext& context) {
  const QuotientConstants constants = *quotient_constants(context.type(0), context.type(1), context.type());
  const CodeRange range = code_range(context.plain.dtype);
  return map_code_pairs(context, [&](std::int32_t a, std::int32_t b) {
    const std::int32_t x = a - context.quant(0).zero_point;
    const std::int32_t z = b - context.quant(1).zero_point;
    const std::int32_t sign = std::clamp(2 * z + 1, -1, 1);
    const std::int32_t w = std::max(std::abs(z), 1);
    const std::int32_t n = steps::clz(w);
    const std::int32_t r = steps::look_up(reciprocal_table(), steps::shift_left(w, n - 1));
    const std::int32_t q = steps::shift_right(steps::mul(x * sign, r, constants.product_shift), 31 - n);
    const std::int64_t code = constants.result.apply(q) + context.quant().zero_point;
    return std::clamp<std::int64_t>(code, range.min, range.max);
  });
}
std::optional<std::string> refuse_quotient(const IntegerSite& site) {
  if (quotient_constants(site.type(0), site.type(1), site.type())) return std::nullopt;
  return "scales too far apart";
}

template <class Compare>
IntegerKernelDef comparison(Op op) {
  return {
      .op = op, .kernel = compare_codes<Compare>, .in_xnnpack = false, .holds = Holds::kData, .refusal = refuse_pair};
}

}  // namespace

std::span<const IntegerKernelDef> integer_binary_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kAdd, .kernel = sum_codes<false>, .refusal = refuse_sum},
      {.op = Op::kSub, .kernel = sum_codes<true>, .refusal = refuse_sum},
      {.op = Op::kMul, .kernel = multiply_codes, .refusal = refuse_product},
      {.op = Op::kDiv, .kernel = divide_codes, .in_xnnpack = false, .refusal = refuse_quotient},
      {.op = Op::kMinimum,
       .kernel = common_scale_codes<WideMinimum>,
       .in_xnnpack = false,
       .refusal = refuse_common_scale},
      {.op = Op::kMaximum,
       .kernel = common_scale_codes<WideMaximum>,
       .in_xnnpack = false,
       .refusal = refuse_common_scale},
      comparison<std::equal_to<>>(Op::kEq),
      comparison<std::not_equal_to<>>(Op::kNe),
      comparison<std::less<>>(Op::kLt),
      comparison<std::less_equal<>>(Op::kLe),
      comparison<std::greater<>>(Op::kGt),
      comparison<std::greater_equal<>>(Op::kGe),
  };
  return kKernels;
}

}  // namespace isthmus
