// Reference kernels: comparisons, logic and bits.
#include <cmath>
#include <functional>
#include <limits>

#include "interpret/kernels/binary.h"
#include "interpret/kernels/elementwise.h"

namespace isthmus {
namespace {

template <class Compare>
Expected<Tensor> compare(const KernelContext& context) {
  Tensor result = context.result();
  TRY(dispatch(context.inputs[0].dtype(), [&]<class Number>(Number) {
    return map_pairs<Number, std::uint8_t>(
        context, result, [](Number a, Number b) { return static_cast<std::uint8_t>(Compare{}(a, b) ? 1 : 0); });
  }));
  return result;
}

template <class Combine>
Expected<Tensor> combine(const KernelContext& context) {
  Tensor result = context.result();
  TRY(dispatch(context.dtype, [&]<class Number>(Number) -> Expected<void> {
    if constexpr (std::is_integral_v<Number>) {
      return map_pairs<Number, Number>(context, result,
                                       [](Number a, Number b) { return static_cast<Number>(Combine{}(a, b)); });
    } else {
      return bad_input("floats have no bits to combine");
    }
  }));
  return result;
}

// Everything is shifted out by as many bits as there are, and by a negative number of them.
struct ShiftLeft {
  template <class Number>
  Number operator()(Number a, Number b) const {
    if (b < 0 || static_cast<std::uint64_t>(b) >= 8 * sizeof(Number)) return 0;
    return static_cast<Number>(static_cast<std::uint64_t>(a) << static_cast<unsigned>(b));
  }
};
struct ShiftRight {
  template <class Number>
  Number operator()(Number a, Number b) const {
    const bool is_all = b < 0 || static_cast<std::uint64_t>(b) >= 8 * sizeof(Number);
    if (is_all) return static_cast<Number>(a < 0 ? -1 : 0);
    return static_cast<Number>(a >> static_cast<unsigned>(b));
  }
};

Expected<Tensor> logical_not(const KernelContext& context) {
  return map_numbers(context, [](auto x) { return x == 0 ? 1 : 0; });
}

Expected<Tensor> bitwise_not(const KernelContext& context) {
  return map_numbers(context, [](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) return static_cast<decltype(x)>(~x);
    return x;
  });
}

constexpr KernelDef kComparisonKernels[] = {
    {Op::kEq, compare<std::equal_to<>>},
    {Op::kNe, compare<std::not_equal_to<>>},
    {Op::kLt, compare<std::less<>>},
    {Op::kLe, compare<std::less_equal<>>},
    {Op::kGt, compare<std::greater<>>},
    {Op::kGe, compare<std::greater_equal<>>},
    {Op::kLogicalAnd, combine<std::logical_and<>>},
    {Op::kLogicalOr, combine<std::logical_or<>>},
    {Op::kLogicalXor, combine<std::not_equal_to<>>},
    {Op::kLogicalNot, logical_not},
    {Op::kBitwiseAnd, combine<std::bit_and<>>},
    {Op::kBitwiseOr, combine<std::bit_or<>>},
    {Op::kBitwiseXor, combine<std::bit_xor<>>},
    {Op::kBitwiseNot, bitwise_not},
    {Op::kShiftLeft, combine<ShiftLeft>},
    {Op::kShiftRight, combine<ShiftRight>},
    {Op::kIsNan,
     [](const KernelContext& context) { return ask_floats(context, [](auto x) { return std::isnan(x); }); }},
    {Op::kIsInf,
     [](const KernelContext& context) { return ask_floats(context, [](auto x) { return std::isinf(x); }); }},
};

}  // namespace

std::span<const KernelDef> comparison_kernels() { return kComparisonKernels; }

}  // namespace isthmus
