// Host kernels on single numbers: sizes and what is computed of them.
#include <algorithm>
#include <functional>
#include <limits>

#include "run/host_kernels.h"

namespace isthmus::run {
namespace {

// Primitives have no out argument of their own: the last argument is the result.
Expected<void> size_of_axis(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return call.set_number(2, input.size(TRY(call.axis(1, input.rank()))));
}
template <bool (*op)(std::int64_t, std::int64_t, std::int64_t*)>
Expected<void> integer_arithmetic(HostCall& call) {
  std::int64_t result = 0;
  if (!op(TRY(call.integer(0)), TRY(call.integer(1)), &result)) return bad_input("the result is no 64-bit integer");
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
Expected<void> comparison(HostCall& call) {
  return call.set_number(2, Compare{}(TRY(call.number(0)), TRY(call.number(1))));
}

constexpr HostKernel kPrimitiveKernels[] = {
    {"aten::sym_size.int", size_of_axis},
    {"executorch_prim::add.Scalar", integer_arithmetic<add>},
    {"executorch_prim::sub.Scalar", integer_arithmetic<subtract>},
    {"executorch_prim::mul.Scalar", integer_arithmetic<multiply>},
    {"executorch_prim::floordiv.Scalar", integer_arithmetic<floor_divide>},
    {"executorch_prim::sym_max.Scalar", integer_arithmetic<greater>},
    {"executorch_prim::sym_min.Scalar", integer_arithmetic<smaller>},
    {"executorch_prim::eq.Scalar", comparison<std::equal_to<>>},
    {"executorch_prim::gt.Scalar", comparison<std::greater<>>},
    {"executorch_prim::lt.Scalar", comparison<std::less<>>},
    {"executorch_prim::ge.Scalar", comparison<std::greater_equal<>>},
    {"executorch_prim::le.Scalar", comparison<std::less_equal<>>},
};

}  // namespace

std::span<const HostKernel> primitive_host_kernels() { return kPrimitiveKernels; }

}  // namespace isthmus::run
