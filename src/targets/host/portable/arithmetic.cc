// ExecuTorch's arithmetic on single numbers and on pairs of them.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "interpret/kernels/elementwise.h"
#include "interpret/kernels/integer_division.h"
#include "targets/host/portable/kernels.h"

namespace isthmus::executorch_kernels {
namespace {

// out[i] = apply(a[i], b[i]) in the element type.
template <class Apply>
Expected<Tensor> pairs(const KernelContext& context, Apply apply) {
  Tensor result = context.result();
  TRY(dispatch(context.dtype, [&]<class Number>(Number) { return map_pairs<Number, Number>(context, result, apply); }));
  return result;
}

// The same for divisions, which integers have by other numbers than 0.
template <class Apply>
Expected<Tensor> divisions(const KernelContext& context, Apply apply) {
  const bool has_zero = !is_floating(context.dtype) && dispatch(context.dtype, [&]<class Number>(Number) {
    const auto divisors = context.inputs[1].data<Number>();
    return std::ranges::find(divisors, Number{0}) != divisors.end();
  });
  if (has_zero) return bad_input("an integer is divided by zero");
  return pairs(context, apply);
}

// Of integers C's rest, with the sign of the dividend; of doubles a rest that is kept in a float.
Expected<Tensor> remainder(const KernelContext& context) {
  return divisions(context, []<class Number>(Number a, Number b) {
    if constexpr (std::is_integral_v<Number>) {
      return rest(a, b);
    } else {
      auto left = static_cast<float>(std::fmod(a, b));
      if ((a < 0) != (b < 0) && left != 0) left = static_cast<float>(left + b);
      return static_cast<Number>(left);
    }
  });
}

// Whatever is not a float is computed as a double.
template <class Number>
using Real = std::conditional_t<std::is_same_v<Number, float>, float, double>;

Expected<Tensor> fmod(const KernelContext& context) {
  return divisions(context, []<class Number>(Number a, Number b) {
    return converted<Number>(std::fmod(static_cast<Real<Number>>(a), static_cast<Real<Number>>(b)));
  });
}
Expected<Tensor> power(const KernelContext& context) {
  return pairs(context, []<class Number>(Number a, Number b) {
    return converted<Number>(std::pow(static_cast<Real<Number>>(a), static_cast<Real<Number>>(b)));
  });
}

// Integers are divided as such, and their quotient passes through a double.
Expected<Tensor> trunc_div(const KernelContext& context) {
  return divisions(context, []<class Number>(Number a, Number b) {
    if constexpr (std::is_integral_v<Number>) {
      return converted<Number>(static_cast<double>(quotient(a, b)));
    } else {
      return std::trunc(a / b);
    }
  });
}

// Floats: infinite wherever the divisor is 0, and a whole number only up to a rounding.
Expected<Tensor> floor_div(const KernelContext& context) {
  return divisions(context, []<class Number>(Number a, Number b) {
    if constexpr (std::is_integral_v<Number>) {
      const Number result = quotient(a, b);
      return (a < 0) != (b < 0) && rest(a, b) != 0 ? static_cast<Number>(result - 1) : result;
    } else {
      constexpr Number kInfinity = std::numeric_limits<Number>::infinity();
      if (b == 0) return std::signbit(a) ? -kInfinity : kInfinity;
      const Number left = std::fmod(a, b);
      const Number result = (a - left) / b;
      return left != 0 && std::signbit(b) != std::signbit(left) ? result - 1 : result;
    }
  });
}

// C's shifts; of an amount that C leaves open an x86 processor takes the low bits.
template <bool kLeft>
Expected<Tensor> shift(const KernelContext& context) {
  return pairs(context, []<class Number>(Number a, Number b) -> Number {
    if constexpr (std::is_integral_v<Number>) {
      const unsigned bits = static_cast<unsigned>(b) & (sizeof(Number) == 8 ? 63u : 31u);
      if (kLeft) return static_cast<Number>(static_cast<std::uint64_t>(static_cast<std::int64_t>(a)) << bits);
      return static_cast<Number>(static_cast<std::int64_t>(a) >> bits);
    } else {
      return a;
    }
  });
}

template <bool kGreatest>
Expected<Tensor> extreme(const KernelContext& context) {
  return pairs(context, []<class Number>(Number a, Number b) {
    if (is_nan(a)) return a;
    if (is_nan(b)) return b;
    return kGreatest ? std::max(a, b) : std::min(a, b);
  });
}

// A negative zero stays negative.
Expected<Tensor> abs(const KernelContext& context) {
  return map_numbers(context, []<class Number>(Number x) {
    if constexpr (std::is_integral_v<Number>) {
      return x < 0 ? static_cast<Number>(std::uint64_t{0} - static_cast<std::uint64_t>(x)) : x;
    } else {
      return x < 0 ? -x : x;
    }
  });
}

Expected<Tensor> sign(const KernelContext& context) {
  return map_numbers(context, []<class Number>(Number x) {
    return is_nan(x) ? x : static_cast<Number>((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
  });
}

Expected<Tensor> gelu(const KernelContext& context) {
  const bool by_tanh = context.as<GeluAttrs>().tanh;
  return map_floats(context, [=]<class Number>(Number x) -> Number {
    constexpr Number kInfinity = std::numeric_limits<Number>::infinity();
    if (x == -kInfinity) return 0;
    if (x == kInfinity) return x;
    if (!by_tanh) {
      const auto wide = static_cast<double>(x);
      return static_cast<Number>(0.5 * wide * (1 + std::erf(wide * (std::numbers::sqrt2 / 2))));
    }
    constexpr auto kBeta = static_cast<Number>(std::numbers::sqrt2 * (2 * std::numbers::inv_sqrtpi) * 0.5);
    constexpr Number kKappa = 0.044715f;
    const Number inner = kBeta * (x + kKappa * (x * x * x));
    return static_cast<Number>(0.5 * static_cast<double>(x) * (1.0 + static_cast<double>(std::tanh(inner))));
  });
}

Expected<Tensor> elu(const KernelContext& context) {
  const EluAttrs& attrs = context.as<EluAttrs>();
  return map_floats(context, [&]<class Number>(Number x) {
    const auto scale = static_cast<Number>(attrs.scale);
    const Number below = static_cast<Number>(attrs.alpha) * scale;
    return x <= 0 ? std::expm1(x * static_cast<Number>(attrs.input_scale)) * below : x * scale;
  });
}

constexpr KernelDef kArithmeticKernels[] = {
    {Op::kRemainder, remainder},
    {Op::kFmod, fmod},
    {Op::kPow, power},
    {Op::kTruncDiv, trunc_div},
    {Op::kFloorDiv, floor_div},
    {Op::kShiftLeft, shift<true>},
    {Op::kShiftRight, shift<false>},
    {Op::kMinimum, extreme<false>},
    {Op::kMaximum, extreme<true>},
    {Op::kAbs, abs},
    {Op::kSign, sign},
    {Op::kGelu, gelu},
    {Op::kElu, elu},
};

}  // namespace

std::span<const KernelDef> arithmetic_kernels() { return kArithmeticKernels; }

}  // namespace isthmus::executorch_kernels
