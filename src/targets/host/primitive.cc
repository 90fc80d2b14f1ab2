// Kernels on single numbers: sizes and what is computed of them.
#include <algorithm>
#include <functional>
#include <limits>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

// Primitives have no out argument of their own: the last argument is the result.
Expected<void> run_size_of_axis(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return call.set_number(2, input.size(TRY(call.axis(1, input.rank()))));
}
template <bool (*op)(std::int64_t, std::int64_t, std::int64_t*)>
Expected<void> run_integer_arithmetic(RunningCall& call) {
  std::int64_t result = 0;
  if (!op(TRY(call.integer(0)), TRY(call.integer(1)), &result))
    return bad_input("the result overflows a 64-bit integer");
  return call.set_number(2, result);
}
bool add(std::int64_t a, std::int64_t b, std::int64_t* result) { return !__builtin_add_overflow(a, b, result); }
bool subtract(std::int64_t a, std::int64_t b, std::int64_t* result) { return !__builtin_sub_overflow(a, b, result); }
bool multiply(std::int64_t a, std::int64_t b, std::int64_t* result) { return !__builtin_mul_overflow(a, b, result); }
bool floor_divide(std::int64_t a, std::int64_t b, std::int64_t* result) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return false;
  *result = a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  return true;
}
bool greater(std::int64_t a, std::int64_t b, std::int64_t* result) {
  *result = std::max(a, b);
  return true;
}
bool smaller(std::int64_t a, std::int64_t b, std::int64_t* result) {
  *result = std::min(a, b);
  return true;
}
template <class Compare>
Expected<void> run_comparison(RunningCall& call) {
  return call.set_number(2, Compare{}(TRY(call.number(0)), TRY(call.number(1))));
}

constexpr Kernel kPrimitiveKernels[] = {
    {.name = names::kSizeOfAxis, .arguments = "ti", .run = run_size_of_axis, .outs = 0},
    {.name = names::kAddSizes, .arguments = "nn", .run = run_integer_arithmetic<add>, .outs = 0},
    {.name = names::kSubtractSizes, .arguments = "nn", .run = run_integer_arithmetic<subtract>, .outs = 0},
    {.name = names::kMultiplySizes, .arguments = "nn", .run = run_integer_arithmetic<multiply>, .outs = 0},
    {.name = names::kFloorDivideSizes, .arguments = "nn", .run = run_integer_arithmetic<floor_divide>, .outs = 0},
    {.name = names::kMaxOfSizes, .arguments = "nn", .run = run_integer_arithmetic<greater>, .outs = 0},
    {.name = names::kMinOfSizes, .arguments = "nn", .run = run_integer_arithmetic<smaller>, .outs = 0},
    {.name = "executorch_prim::eq.Scalar", .arguments = "nn", .run = run_comparison<std::equal_to<>>, .outs = 0},
    {.name = "executorch_prim::gt.Scalar", .arguments = "nn", .run = run_comparison<std::greater<>>, .outs = 0},
    {.name = "executorch_prim::lt.Scalar", .arguments = "nn", .run = run_comparison<std::less<>>, .outs = 0},
    {.name = "executorch_prim::ge.Scalar", .arguments = "nn", .run = run_comparison<std::greater_equal<>>, .outs = 0},
    {.name = "executorch_prim::le.Scalar", .arguments = "nn", .run = run_comparison<std::less_equal<>>, .outs = 0},
};

}  // namespace

Family primitive_family() { return {kPrimitiveKernels, {}}; }

}  // namespace isthmus::host
