// Reference kernels: functions of one number.
#include "interpret/kernels/unary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/portable_math.h"
#include "interpret/kernels/elementwise.h"

namespace isthmus {
namespace {

// Integers wrap around.
template <class Number>
Number negated(Number x) {
  if constexpr (std::is_floating_point_v<Number>) return -x;
  return static_cast<Number>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
}

Expected<Tensor> neg(const KernelContext& context) {
  return map_numbers(context, [](auto x) { return negated(x); });
}

Expected<Tensor> abs(const KernelContext& context) {
  return map_numbers(context, [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return std::abs(x);
    return x < 0 ? negated(x) : x;
  });
}

// 0 of NaN.
Expected<Tensor> sign(const KernelContext& context) {
  return map_numbers(context, [](auto x) { return (x > 0 ? 1 : 0) - (x < 0 ? 1 : 0); });
}

template <class Number>
Number saturated(double bound) {
  if constexpr (std::is_floating_point_v<Number>) return static_cast<Number>(bound);
  // The largest 64-bit number is not a double; the next above it is.
  const double below = std::ldexp(1.0, std::numeric_limits<Number>::digits);
  if (bound >= below) return std::numeric_limits<Number>::max();
  if (bound <= static_cast<double>(std::numeric_limits<Number>::min())) return std::numeric_limits<Number>::min();
  return static_cast<Number>(bound);
}

Expected<Tensor> clamp(const KernelContext& context) {
  const auto& attrs = context.as<ClampAttrs>();
  Tensor result = context.result();
  dispatch(context.dtype, [&]<class Number>(Number) {
    const auto min = saturated<Number>(attrs.min);
    const auto max = saturated<Number>(attrs.max);
    const auto in = context.inputs[0].data<Number>();
    const auto out = result.mutable_data<Number>();
    // Both comparisons are false for NaN, which stays.
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Number raised = in[i] < min ? min : in[i];
      out[i] = raised > max ? max : raised;
    }
  });
  return result;
}

Expected<Tensor> nan_to_num(const KernelContext& context) {
  const auto& attrs = context.as<NanToNumAttrs>();
  return map_floats(context, [&]<class Number>(Number x) {
    if (std::isnan(x)) return static_cast<Number>(attrs.nan);
    if (std::isinf(x)) return static_cast<Number>(x > 0 ? attrs.posinf : attrs.neginf);
    return x;
  });
}

constexpr KernelDef kUnaryKernels[] = {
    {Op::kNeg, neg},
    {Op::kAbs, abs},
    {Op::kSign, sign},
    {Op::kExp, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::exp(x); }); }},
    {Op::kExp2, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::exp2(x); }); }},
    {Op::kExpm1, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::expm1(x); }); }},
    {Op::kLog, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::log(x); }); }},
    {Op::kLog2, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::log2(x); }); }},
    {Op::kLog10, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::log10(x); }); }},
    {Op::kLog1p, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::log1p(x); }); }},
    {Op::kSqrt, [](const KernelContext& c) { return map_floats(c, [](auto x) { return std::sqrt(x); }); }},
    {Op::kRsqrt, [](const KernelContext& c) { return map_floats(c, [](auto x) { return 1 / std::sqrt(x); }); }},
    {Op::kReciprocal, [](const KernelContext& c) { return map_floats(c, [](auto x) { return 1 / x; }); }},
    {Op::kSin, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::sin(x); }); }},
    {Op::kCos, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::cos(x); }); }},
    {Op::kTan, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::tan(x); }); }},
    {Op::kAsin, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::asin(x); }); }},
    {Op::kAcos, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::acos(x); }); }},
    {Op::kAtan, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::atan(x); }); }},
    {Op::kSinh, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::sinh(x); }); }},
    {Op::kCosh, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::cosh(x); }); }},
    {Op::kAsinh, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::asinh(x); }); }},
    {Op::kAcosh, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::acosh(x); }); }},
    {Op::kAtanh, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::atanh(x); }); }},
    {Op::kErf, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::erf(x); }); }},
    {Op::kErfc, [](const KernelContext& c) { return map_floats(c, [](auto x) { return portable::erfc(x); }); }},
    {Op::kFloor, [](const KernelContext& c) { return map_floats(c, [](auto x) { return std::floor(x); }); }},
    {Op::kCeil, [](const KernelContext& c) { return map_floats(c, [](auto x) { return std::ceil(x); }); }},
    // Halves go to the even neighbour.
    {Op::kRound, [](const KernelContext& c) { return map_floats(c, [](auto x) { return std::nearbyint(x); }); }},
    {Op::kTrunc, [](const KernelContext& c) { return map_floats(c, [](auto x) { return std::trunc(x); }); }},
    {Op::kClamp, clamp},
    {Op::kNanToNum, nan_to_num},
};

}  // namespace

std::span<const KernelDef> unary_kernels() {
  static const std::vector<KernelDef> kAll = [] {
    std::vector<KernelDef> all(std::begin(kUnaryKernels), std::end(kUnaryKernels));
    const auto activations = activation_kernels();
    all.insert(all.end(), activations.begin(), activations.end());
    return all;
  }();
  return kAll;
}

}  // namespace isthmus
