// Checks that ops of many families share.
#include "ops/demands.h"

#include <fmt/format.h>

#include <algorithm>

namespace isthmus {
namespace {

// Beyond this, products of two attributes would not fit 64 bits.
constexpr std::int64_t kMaxOfAttribute = std::int64_t{1} << 30;

bool has_arithmetic(DType dtype) {
  if (is_complex(dtype)) return false;
  return !is_floating(dtype) || size_of(dtype) >= 2;
}

}  // namespace

Expected<void> demand_numbers(const TensorType& type) {
  if (has_arithmetic(type.dtype)) return {};
  return fail(ErrorKind::kUnsupported, fmt::format("arithmetic on {} is not supported", name_of(type.dtype)));
}

Expected<void> demand_summable(const TensorType& type) {
  if (type.dtype == DType::kBool) return bad_input("the input is bool, expected numbers");
  return demand_numbers(type);
}

Expected<void> demand_floats(const TensorType& type) {
  if (has_arithmetic(type.dtype) && is_floating(type.dtype)) return {};
  return fail(ErrorKind::kUnsupported, fmt::format("the input is {}, expected floats", name_of(type.dtype)));
}

Expected<void> demand_same_dtype(const TensorType& a, const TensorType& b) {
  if (a.dtype == b.dtype) return {};
  return bad_input(fmt::format("inputs are {} and {}, expected the same type", name_of(a.dtype), name_of(b.dtype)));
}

Expected<void> demand_rank(const TensorType& type, std::size_t rank) {
  if (type.rank() == rank) return {};
  return bad_input(fmt::format("an input has rank {}, expected {}", type.rank(), rank));
}

Expected<void> demand_equal(Exprs& exprs, Dim a, Dim b, std::string_view what) {
  if (a == b) return {};
  const ErrorKind kind = a.is_fixed() && b.is_fixed() ? ErrorKind::kBadInput : ErrorKind::kUnsupported;
  return fail(kind, fmt::format("{} is {}, expected {}", what, exprs.text(a), exprs.text(b)));
}

Expected<void> demand_axes(const Ints& axes, std::size_t rank) {
  std::int64_t last = -1;
  for (const std::int64_t axis : axes) {
    if (axis <= last || axis >= static_cast<std::int64_t>(rank)) {
      return bad_input(fmt::format("axes [{}] are invalid for rank {}", fmt::join(axes, ","), rank));
    }
    last = axis;
  }
  return {};
}

Expected<void> demand_list(const Ints& list, std::size_t count, std::int64_t min, std::string_view what) {
  if (list.size() != count) return bad_input(fmt::format("{} has {} values, expected {}", what, list.size(), count));
  for (const std::int64_t number : list) {
    if (number < min || number > kMaxOfAttribute) {
      return bad_input(fmt::format("{} [{}] is out of range, expected at least {}", what, fmt::join(list, ","), min));
    }
  }
  return {};
}

Expected<Shape> broadcast(Exprs& exprs, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[lead + i];
    if (dim.is(1)) {
      dim = shorter[i];
    } else if (!shorter[i].is(1)) {
      // Sizes that were equal at export time may be so by a rule that the archive does not tell; kernels check again.
      const auto a_hint = exprs.hint(shorter[i]);
      const auto b_hint = exprs.hint(dim);
      const bool may_be_equal = !(dim.is_fixed() && shorter[i].is_fixed()) && a_hint && a_hint == b_hint;
      if (!may_be_equal) TRY(demand_equal(exprs, shorter[i], dim, "a broadcast dimension"));
      if (shorter[i].is_fixed()) dim = shorter[i];
    }
  }
  return result;
}

Dim window_count(Exprs& exprs, Dim size, const Window& window) {
  const std::int64_t reach = window.dilation * (window.kernel - 1) + 1;
  const Dim room = exprs.add(size, window.before + window.after - reach);
  return exprs.add(exprs.floor_divide(room, window.stride), 1);
}

Dim window_count_ceil(Exprs& exprs, Dim size, const Window& window) {
  const std::int64_t reach = window.dilation * (window.kernel - 1) + 1;
  const Dim room = exprs.add(size, window.before + window.after - reach + window.stride - 1);
  const Dim fits = exprs.add(exprs.floor_divide(room, window.stride), 1);
  const Dim begins_inside = exprs.add(exprs.floor_divide(exprs.add(size, window.before - 1), window.stride), 1);
  return exprs.min(fits, begins_inside);
}

}  // namespace isthmus
