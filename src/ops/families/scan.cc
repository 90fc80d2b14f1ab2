// Running extremes, running sums of exponentials, and the trapezoidal rule: what each place of an axis makes of all
// places before it.
#include <fmt/format.h>

#include <numeric>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"
#include "ops/families/reduce.h"

namespace isthmus {
namespace {

// In as many steps as the size has bits: each combines a place with the one that lies as far before it as the steps so
// far have reached.
Expected<ValueId> scan(Call& call, Op op, ValueId value, std::int64_t axis) {
  const Dim size = call.size(value, axis);
  if (!size.is_fixed()) return Call::unsupported("a scan needs a static axis");
  for (std::int64_t reach = 1; reach < size.value(); reach *= 2) {
    const ValueId first = TRY(call.slice(value, axis, 0, reach));
    const ValueId own = TRY(call.slice(value, axis, reach, size));
    const ValueId before = TRY(call.slice(value, axis, 0, size.value() - reach));
    value = TRY(call.cat({first, TRY(call.binary(op, own, before))}, axis));
  }
  return value;
}

// The last of equal numbers counts, and a NaN is the extreme from its place on.
Expected<Values> read_running_extreme(Call& call, Op op) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  if (call.rank(self) == 0) return Values{self, call.scalar(std::int64_t{0}, DType::kI64)};
  const ValueId values = TRY(scan(call, op, self, axis));
  ValueId is_new = TRY(call.binary(Op::kEq, self, values));
  if (is_floating(call.type(self).dtype)) {
    is_new = TRY(call.binary(Op::kLogicalOr, is_new, TRY(call.unary(Op::kIsNan, self))));
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(call.size(self, axis).value()));
  std::iota(numbers.begin(), numbers.end(), 0);
  Shape line(static_cast<std::size_t>(call.rank(self)), Dim(1));
  line[static_cast<std::size_t>(axis)] = call.size(self, axis);
  const ValueId places = TRY(call.expand(TRY(call.reshape(call.integers(numbers), line)), call.shape(self)));
  const ValueId zero = call.scalar(std::int64_t{0}, DType::kI64);
  const ValueId found = TRY(call.emit(Op::kWhere, NoAttrs{}, {is_new, places, zero}));
  return Values{values, TRY(scan(call, Op::kMaximum, found, axis))};
}
Expected<Values> read_cummax(Call& call) { return read_running_extreme(call, Op::kMaximum); }
Expected<Values> read_cummin(Call& call) { return read_running_extreme(call, Op::kMinimum); }

Expected<Values> read_logcumsumexp(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  TRY(demand_floats(call.type(self)));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  return call.rank(self) == 0 ? Expected<Values>(Values{self}) : one(scan(call, Op::kLogaddexp, self, axis));
}

// The areas between neighbours: their mean height times how far they are apart.
Expected<ValueId> trapezoids(Call& call, ValueId y, std::int64_t axis) {
  const Dim size = call.size(y, axis);
  if (size.is_fixed() && size.value() < 1) return bad_input(call.target() + ": the axis is empty");
  const Dim last = call.exprs().subtract(size, 1);
  const auto sides = [&](ValueId value, std::int64_t along, Dim count) -> Expected<std::pair<ValueId, ValueId>> {
    const Dim end = call.exprs().subtract(count, 1);
    return std::pair(TRY(call.slice(value, along, 1, count)), TRY(call.slice(value, along, 0, end)));
  };
  const auto [right, left] = TRY(sides(y, axis, size));
  const ValueId heights = TRY(call.binary(Op::kAdd, right, left));
  const DType dtype = call.type(y).dtype;
  TRY(demand_floats(call.type(y)));
  if (const auto x = call.tensor_if("x")) {
    const bool is_line = call.rank(*x) == 1;
    const std::int64_t along = is_line ? 0 : axis - (call.rank(y) - call.rank(*x));
    if (along < 0 || along >= call.rank(*x)) return bad_input(call.target() + ": x and y differ in rank");
    const auto [next, previous] = TRY(sides(*x, along, call.size(*x, along)));
    ValueId widths = TRY(call.binary(Op::kSub, next, previous));
    if (is_line) {
      Shape line(static_cast<std::size_t>(call.rank(y)), Dim(1));
      line[static_cast<std::size_t>(axis)] = last;
      widths = TRY(call.reshape(widths, std::move(line)));
    }
    const ValueId areas = TRY(call.binary(Op::kMul, heights, TRY(call.cast(widths, dtype))));
    return call.binary(Op::kMul, areas, call.scalar(0.5, dtype));
  }
  return call.binary(Op::kMul, heights, call.scalar(TRY(call.number("dx", 1)) / 2, dtype));
}
Expected<Values> read_trapezoid(Call& call) {
  const ValueId y = TRY(call.tensor("y"));
  if (call.rank(y) == 0) return bad_input(call.target() + ": trapezoid needs at least one dimension");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(y), -1));
  return one(reduce(call, Op::kSum, TRY(trapezoids(call, y, axis)), {axis}, false));
}
Expected<Values> read_cumulative_trapezoid(Call& call) {
  const ValueId y = TRY(call.tensor("y"));
  if (call.rank(y) == 0) return bad_input(call.target() + ": trapezoid needs at least one dimension");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(y), -1));
  return one(call.emit(Op::kCumsum, AxisAttrs{axis}, {TRY(trapezoids(call, y, axis))}));
}

}  // namespace

Family scan_family() {
  static const Spelling kCompounds[] = {
      {"aten.cummax", read_cummax},
      {"aten.cummin", read_cummin},
      {"aten.logcumsumexp", read_logcumsumexp},
      {"aten.trapezoid", read_trapezoid},
      {"aten.trapz", read_trapezoid},
      {"aten.cumulative_trapezoid", read_cumulative_trapezoid},
  };
  return {"scan", {}, kCompounds};
}

}  // namespace isthmus
