// Names of slice: select, narrow, and Python's rules for the bounds.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

bool is_negative(const Exprs& exprs, Dim dim) {
  if (dim.is_fixed()) return dim.value() < 0;
  const Bounds bounds = exprs.bounds(dim);
  if (bounds.min && *bounds.min >= 0) return false;
  if (bounds.max && *bounds.max < 0) return true;
  return exprs.hint(dim).value_or(0) < 0;
}

// A bound as Python reads it: counted from the end where negative, and never outside.
Dim clamped(Exprs& exprs, Dim bound, Dim size) {
  if (bound.is(std::numeric_limits<std::int64_t>::max())) return size;
  if (bound.is_fixed() && bound.value() < -std::numeric_limits<std::int64_t>::max() / 2) return 0;
  return is_negative(exprs, bound) ? exprs.max(exprs.add(bound, size), 0) : exprs.min(bound, size);
}

// Of a symbolic axis it may be unknown here, but known to the exporter, that a bound needs no clamping.
Range as_declared(Exprs& exprs, Range range, Dim raw_start, Dim raw_end, Dim size, Dim declared) {
  if (exprs.subtract(range.end, range.start) == declared) return range;
  for (const Dim start : {range.start, raw_start, Dim(0)}) {
    for (const Dim end : {range.end, raw_end, size}) {
      if (exprs.subtract(end, start) == declared && !is_negative(exprs, start)) return {start, end};
    }
  }
  return range;
}

Expected<std::vector<ValueId>> read_slice(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) == 0) return bad_input("a 0-d tensor cannot be sliced");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), 0));
  const Dim start = TRY(call.dim("start", Dim(0)));
  const Dim end = TRY(call.dim("end", Dim(std::numeric_limits<std::int64_t>::max())));
  const std::int64_t step = TRY(call.integer("step", 1));
  if (step < 1) return bad_input(fmt::format("the step is {}, expected at least 1", step));
  const Dim size = call.size(self, axis);
  Range range = python_range(call.exprs(), size, start, end);
  const Dim length = call.exprs().subtract(range.end, range.start);
  if (length.is_fixed()) {
    const std::int64_t count = length.value() / step + (length.value() % step != 0 ? 1 : 0);
    return one(strided_slice(call, self, axis, range.start, count, step));
  }
  if (step == 1 && call.result_count() == 1 && axis < static_cast<std::int64_t>(call.result().rank())) {
    range = as_declared(call.exprs(), range, start, end, size, call.result().shape[static_cast<std::size_t>(axis)]);
  }
  return one(call.slice(self, axis, range.start, range.end, step));
}

Expected<std::vector<ValueId>> read_select(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) == 0) return bad_input("select needs at least one dimension");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  return one(select(call, self, axis, TRY(call.dim("index"))));
}

Expected<std::vector<ValueId>> read_narrow(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) == 0) return bad_input("narrow needs at least one dimension");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  Dim start = 0;
  if (const auto tensor = call.tensor_if("start")) {
    const auto known = known_integers(call.graph(), *tensor);
    if (!known || known->size() != 1) return Call::unsupported("the start depends on the values of a tensor");
    start = (*known)[0];
  } else {
    start = TRY(call.dim("start"));
  }
  const Dim length = TRY(call.dim("length"));
  const Dim size = call.size(self, axis);
  if ((length.is_fixed() && length.value() < 0) || surely_exceeds(call.exprs(), length, size)) {
    return bad_input(
        fmt::format("{} elements are out of range for size {}", call.exprs().text(length), call.exprs().text(size)));
  }
  if (is_negative(call.exprs(), start)) start = call.exprs().add(start, size);
  return one(strided_slice(call, self, axis, start, length, 1));
}

}  // namespace

Range python_range(Exprs& exprs, Dim size, Dim start, Dim end) {
  const Dim first = clamped(exprs, start, size);
  return {first, exprs.max(clamped(exprs, end, size), first)};
}

Expected<ValueId> select(Emitter& emitter, ValueId value, std::int64_t axis, Dim index) {
  Exprs& exprs = emitter.exprs();
  if (is_negative(exprs, index)) index = exprs.add(index, emitter.size(value, axis));
  const ValueId part = TRY(emitter.slice(value, axis, index, exprs.add(index, 1)));
  return emitter.reshape(part, with_axis(emitter.shape(part), axis, {}));
}

Expected<ValueId> select_positions(Emitter& emitter, ValueId value, std::int64_t axis, const Ints& positions) {
  const auto count = static_cast<std::int64_t>(positions.size());
  if (count == 0) return emitter.slice(value, axis, 0, 0);
  const std::int64_t step = count > 1 ? positions[1] - positions[0] : 1;
  bool is_even = step > 0 && positions[0] >= 0;
  for (std::size_t i = 1; i < positions.size(); ++i) is_even = is_even && positions[i] - positions[i - 1] == step;
  if (is_even) return strided_slice(emitter, value, axis, positions[0], count, step);
  return emitter.emit(Op::kIndexSelect, AxisAttrs{axis}, {value, emitter.integers(positions)});
}

std::vector<Spelling> slice_spellings() {
  return {
      {"aten.slice", read_slice, Aliasing::kView},
      {"aten.select", read_select, Aliasing::kView},
      {"aten.narrow", read_narrow, Aliasing::kView},
  };
}

}  // namespace isthmus
