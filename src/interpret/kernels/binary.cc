// Reference kernels: arithmetic on pairs of numbers.
#include "interpret/kernels/binary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/portable_math.h"
#include "interpret/kernels/elementwise.h"
#include "interpret/kernels/integer_division.h"

namespace isthmus {
namespace {

// Integers wrap around; the arithmetic is done where that is defined.
template <class Number, class Calculate>
Number wrapped(Number a, Number b, Calculate calculate) {
  if constexpr (std::is_floating_point_v<Number>) {
    return calculate(a, b);
  } else {
    return static_cast<Number>(calculate(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  }
}

struct Add {
  template <class Number>
  static Number apply(Number a, Number b) {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <class Number>
  static Number apply(Number a, Number b) {
    return wrapped(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <class Number>
  static Number apply(Number a, Number b) {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
};

// NaN wins.
struct Minimum {
  template <class Number>
  static Number apply(Number a, Number b) {
    return is_nan(a) || a < b ? a : b;
  }
};
struct Maximum {
  template <class Number>
  static Number apply(Number a, Number b) {
    return is_nan(a) || a > b ? a : b;
  }
};
// NaN loses.
struct Fmin {
  template <class Number>
  static Number apply(Number a, Number b) {
    return is_nan(b) || a < b ? a : b;
  }
};
struct Fmax {
  template <class Number>
  static Number apply(Number a, Number b) {
    return is_nan(b) || a > b ? a : b;
  }
};

// By squaring; a fraction is 0, and 1 / -1 alternates.
template <class Number>
Number integer_power(Number base, Number exponent) {
  if constexpr (std::is_signed_v<Number>) {
    if (exponent < 0) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? Number{1} : Number{-1};
      return 0;
    }
  }
  std::uint64_t result = 1;
  auto square = static_cast<std::uint64_t>(base);
  for (auto left = static_cast<std::uint64_t>(exponent); left > 0; left >>= 1) {
    if ((left & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<Number>(result);
}
struct Power {
  template <class Number>
  static Number apply(Number base, Number exponent) {
    if constexpr (std::is_floating_point_v<Number>) {
      return portable::pow(base, exponent);
    } else {
      return integer_power(base, exponent);
    }
  }
};

struct TruncDiv {
  template <class Number>
  static Number apply(Number a, Number b) {
    if constexpr (std::is_floating_point_v<Number>) {
      return std::trunc(a / b);
    } else {
      return quotient(a, b);
    }
  }
};
struct Fmod {
  template <class Number>
  static Number apply(Number a, Number b) {
    if constexpr (std::is_floating_point_v<Number>) {
      return std::fmod(a, b);
    } else {
      return rest(a, b);
    }
  }
};
// The rest has the sign of the divisor.
struct Remainder {
  template <class Number>
  static Number apply(Number a, Number b) {
    Number left = Fmod::apply(a, b);
    if (left != 0 && (b < 0) != (left < 0)) left = static_cast<Number>(left + b);
    return left;
  }
};
// For floats the rest is taken off first, so that the quotient is a whole number up to one rounding.
struct FloorDiv {
  template <class Number>
  static Number apply(Number a, Number b) {
    if constexpr (std::is_floating_point_v<Number>) {
      if (b == 0) return a / b;
      const Number left = std::fmod(a, b);
      Number result = (a - left) / b;
      if (left != 0 && (b < 0) != (left < 0)) result -= Number{1};
      if (result == 0) return std::copysign(Number{0}, a / b);
      const Number whole = std::floor(result);
      return result - whole > Number{0.5} ? whole + Number{1} : whole;
    } else {
      const Number result = quotient(a, b);
      return rest(a, b) != 0 && (a < 0) != (b < 0) ? static_cast<Number>(result - 1) : result;
    }
  }
};

struct Div {
  template <class Number>
  static Number apply(Number a, Number b) {
    return a / b;
  }
};
struct Atan2 {
  template <class Number>
  static Number apply(Number a, Number b) {
    return portable::atan2(a, b);
  }
};
struct Hypot {
  template <class Number>
  static Number apply(Number a, Number b) {
    return portable::hypot(a, b);
  }
};
struct Copysign {
  template <class Number>
  static Number apply(Number a, Number b) {
    return std::copysign(a, b);
  }
};
// The larger one is taken out so that nothing overflows; of two equal infinities there is no difference.
struct Logaddexp {
  template <class Number>
  static Number apply(Number a, Number b) {
    if (std::isinf(a) && a == b) return a;
    return std::max(a, b) + portable::log1p(portable::exp(-std::abs(a - b)));
  }
};

struct Prelu {
  template <class Number>
  static Number apply(Number x, Number slope) {
    return x > 0 ? x : x * slope;
  }
};

template <class Operation>
Expected<Tensor> compute_any(const KernelContext& context) {
  Tensor result = context.result();
  TRY(dispatch(context.dtype, [&]<class Number>(Number) {
    return map_pairs<Number, Number>(context, result, [](Number a, Number b) { return Operation::apply(a, b); });
  }));
  if (context.dtype == DType::kBool) {
    for (std::uint8_t& boolean : result.mutable_data<std::uint8_t>()) boolean = boolean != 0 ? 1 : 0;
  }
  return result;
}

template <class Operation>
Expected<Tensor> compute_real(const KernelContext& context) {
  Tensor result = context.result();
  TRY(dispatch_float(context.dtype, [&]<class Number>(Number) {
    return map_pairs<Number, Number>(context, result, [](Number a, Number b) { return Operation::apply(a, b); });
  }));
  return result;
}

template <class Operation>
Expected<Tensor> divide(const KernelContext& context) {
  if (!is_floating(context.dtype)) {
    const bool has_zero = dispatch(context.dtype, [&]<class Number>(Number) {
      return std::ranges::find(context.inputs[1].data<Number>(), Number{0}) != context.inputs[1].data<Number>().end();
    });
    if (has_zero) return bad_input("an integer is divided by zero");
  }
  return compute_any<Operation>(context);
}

constexpr KernelDef kBinaryKernels[] = {
    {Op::kAdd, compute_any<Add>},
    {Op::kSub, compute_any<Sub>},
    {Op::kMul, compute_any<Mul>},
    {Op::kDiv, compute_real<Div>},
    {Op::kFloorDiv, divide<FloorDiv>},
    {Op::kTruncDiv, divide<TruncDiv>},
    {Op::kRemainder, divide<Remainder>},
    {Op::kFmod, divide<Fmod>},
    {Op::kPow, compute_any<Power>},
    {Op::kMinimum, compute_any<Minimum>},
    {Op::kMaximum, compute_any<Maximum>},
    {Op::kFmin, compute_any<Fmin>},
    {Op::kFmax, compute_any<Fmax>},
    {Op::kAtan2, compute_real<Atan2>},
    {Op::kHypot, compute_real<Hypot>},
    {Op::kCopysign, compute_real<Copysign>},
    {Op::kLogaddexp, compute_real<Logaddexp>},
    {Op::kPrelu, compute_real<Prelu>},
};

}  // namespace

std::span<const KernelDef> binary_kernels() {
  static const std::vector<KernelDef> kAll = [] {
    std::vector<KernelDef> all(std::begin(kBinaryKernels), std::end(kBinaryKernels));
    const auto comparisons = comparison_kernels();
    all.insert(all.end(), comparisons.begin(), comparisons.end());
    return all;
  }();
  return kAll;
}

}  // namespace isthmus
