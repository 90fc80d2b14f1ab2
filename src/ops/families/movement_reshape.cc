// Names of reshape: view, flatten, squeeze and the others that only change the shape.
#include <fmt/format.h>

#include <algorithm>

#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

// The size that -1 stands for: what `total` leaves for it beside the other sizes.
Expected<Dim> size_of_rest(Call& call, Dim total, const Shape& others, Dim declared) {
  Exprs& exprs = call.exprs();
  const Dim taken = exprs.product(others);
  if (taken.is(0)) return bad_input("a size of -1 is ambiguous beside a size of 0");
  if (const auto exact = exprs.divide_exactly(total, taken)) return *exact;
  if (total.is_fixed() && taken.is_fixed()) {
    return bad_input(fmt::format("{} elements are not divisible by {}", total.value(), taken.value()));
  }
  return declared;
}

// The shape with its -1, if it has one, replaced by a size.
Expected<Shape> resolved(Call& call, Shape shape, Dim total, std::optional<std::size_t> first_declared) {
  const auto is_open = [](Dim dim) { return dim.is(-1); };
  const auto open = std::ranges::find_if(shape, is_open);
  if (open == shape.end()) return shape;
  if (std::find_if(open + 1, shape.end(), is_open) != shape.end()) return bad_input("two sizes are -1");
  Shape others(shape.begin(), open);
  others.insert(others.end(), open + 1, shape.end());
  Dim declared = call.exprs().floor_divide(total, call.exprs().product(others));
  const auto place = static_cast<std::size_t>(open - shape.begin());
  if (first_declared && call.result_count() > 0 && *first_declared + place < call.result().rank()) {
    declared = call.result().shape[*first_declared + place];
  }
  *open = TRY(size_of_rest(call, total, others, declared));
  return shape;
}

Expected<std::vector<ValueId>> read_view(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  Shape shape = TRY(call.has("shape") ? call.dims("shape") : call.dims("size"));
  const Dim total = call.exprs().product(call.shape(self));
  return one(call.reshape(self, TRY(resolved(call, std::move(shape), total, 0))));
}

Expected<std::vector<ValueId>> read_view_as(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Shape shape = call.shape(TRY(call.tensor("other")));
  return one(call.reshape(self, shape));
}

Expected<std::vector<ValueId>> read_flatten(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t rank = call.rank(self);
  const std::int64_t first = TRY(call.axis("start_dim", rank, 0));
  const std::int64_t last = TRY(call.axis("end_dim", rank, -1));
  if (first > last) return bad_input(fmt::format("cannot flatten axes {} to {}", first, last));
  const Shape from = call.shape(self);
  if (rank == 0) return one(call.reshape(self, {Dim(1)}));
  Shape shape(from.begin(), from.begin() + first);
  shape.push_back(call.exprs().product(
      std::span(from).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1))));
  shape.insert(shape.end(), from.begin() + last + 1, from.end());
  return one(call.reshape(self, std::move(shape)));
}

Expected<std::vector<ValueId>> read_ravel(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(call.reshape(self, {call.exprs().product(call.shape(self))}));
}

Expected<std::vector<ValueId>> read_unflatten(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  if (call.rank(self) == 0) return bad_input("unflatten needs at least one dimension");
  const Shape parts =
      TRY(resolved(call, TRY(call.dims("sizes")), call.size(self, axis), static_cast<std::size_t>(axis)));
  if (surely_differ(call.exprs(), call.exprs().product(parts), call.size(self, axis))) {
    return bad_input(fmt::format("axis {} does not unflatten into these sizes", axis));
  }
  return one(call.reshape(self, with_axis(call.shape(self), axis, parts)));
}

Expected<ValueId> squeezed(Call& call, ValueId self, const Ints& axes) {
  Shape shape;
  for (std::int64_t axis = 0; axis < call.rank(self); ++axis) {
    const bool is_named = std::ranges::find(axes, axis) != axes.end();
    if (!is_named || !call.size(self, axis).is(1)) shape.push_back(call.size(self, axis));
  }
  return call.reshape(self, std::move(shape));
}

Expected<std::vector<ValueId>> read_squeeze(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const bool is_all = !call.has("dim");
  return one(
      squeezed(call, self, TRY(normal_axes(is_all ? Ints{} : TRY(call.integers("dim")), call.rank(self), is_all))));
}

Expected<std::vector<ValueId>> read_unsqueeze(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(unsqueeze(call, self, TRY(call.axis("dim", call.rank(self) + 1))));
}

using AtLeast = Shape (*)(const Shape&);

Shape at_least_1d(const Shape& shape) { return shape.empty() ? Shape{Dim(1)} : shape; }
Shape at_least_2d(const Shape& shape) {
  return shape.size() > 1 ? shape : Shape{Dim(1), shape.empty() ? Dim(1) : shape[0]};
}
Shape at_least_3d(const Shape& shape) {
  if (shape.size() > 2) return shape;
  if (shape.size() == 2) return {shape[0], shape[1], Dim(1)};
  return {Dim(1), shape.empty() ? Dim(1) : shape[0], Dim(1)};
}

template <AtLeast at_least>
Expected<std::vector<ValueId>> read_at_least(Call& call) {
  std::vector<ValueId> values;
  if (const auto self = call.tensor_if("self")) {
    values.push_back(*self);
  } else {
    values = TRY(call.tensors("tensors"));
  }
  for (ValueId& value : values) value = TRY(call.reshape(value, at_least(call.shape(value))));
  return values;
}

}  // namespace

std::vector<Spelling> reshape_spellings() {
  return {
      {"aten.view", read_view, Aliasing::kView},
      {"aten.reshape", read_view, Aliasing::kView},
      {"aten._unsafe_view", read_view},
      {"aten._reshape_alias", read_view, Aliasing::kView},
      {"aten._reshape", read_view},
      {"aten.view_as", read_view_as, Aliasing::kView},
      {"aten.reshape_as", read_view_as, Aliasing::kView},
      {"aten.flatten", read_flatten, Aliasing::kView},
      {"aten.ravel", read_ravel, Aliasing::kView},
      {"aten.unflatten", read_unflatten, Aliasing::kView},
      {"aten.squeeze", read_squeeze, Aliasing::kView},
      {"aten.unsqueeze", read_unsqueeze, Aliasing::kView},
      {"aten.atleast_1d", read_at_least<at_least_1d>, Aliasing::kView},
      {"aten.atleast_2d", read_at_least<at_least_2d>, Aliasing::kView},
      {"aten.atleast_3d", read_at_least<at_least_3d>, Aliasing::kView},
      {"aten.atleast_1d.Sequence", read_at_least<at_least_1d>},
      {"aten.atleast_2d.Sequence", read_at_least<at_least_2d>},
      {"aten.atleast_3d.Sequence", read_at_least<at_least_3d>},
  };
}

}  // namespace isthmus
