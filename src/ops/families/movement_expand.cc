// Names of expand, and the repetitions that come down to reshape, expand, reshape.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/demands.h"
#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

Expected<std::vector<ValueId>> read_expand(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  Shape shape = TRY(call.dims("size"));
  const Shape from = call.shape(self);
  if (shape.size() < from.size()) {
    return bad_input(fmt::format("rank {} does not expand to rank {}", from.size(), shape.size()));
  }
  const std::size_t lead = shape.size() - from.size();
  for (std::size_t i = lead; i < shape.size(); ++i) {
    if (shape[i].is(-1)) shape[i] = from[i - lead];
  }
  return one(call.expand(self, std::move(shape)));
}

Expected<std::vector<ValueId>> read_expand_as(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Shape shape = call.shape(TRY(call.tensor("other")));
  return one(call.expand(self, shape));
}

Expected<std::vector<ValueId>> read_broadcast_tensors(Call& call) {
  std::vector<ValueId> values = TRY(call.tensors("tensors"));
  Shape shape;
  for (const ValueId value : values) shape = TRY(broadcast(call.exprs(), shape, call.shape(value)));
  for (ValueId& value : values) value = TRY(call.expand(value, shape));
  return values;
}

Expected<void> demand_repeats(std::span<const Dim> repeats) {
  for (const Dim repeat : repeats) {
    if (repeat.is_fixed() && repeat.value() < 0)
      return bad_input(fmt::format("invalid number of repeats: {}", repeat.value()));
  }
  return {};
}

// Repeats each axis as a whole. Axes of size 1 are only expanded.
Expected<ValueId> repeated(Call& call, ValueId value, const Dims& repeats) {
  TRY(demand_repeats(repeats));
  Shape from = call.shape(value);
  if (repeats.size() < from.size()) {
    return bad_input(fmt::format("{} repeats for {} axes", repeats.size(), from.size()));
  }
  from.insert(from.begin(), repeats.size() - from.size(), Dim(1));
  Shape apart;
  Shape expanded;
  Shape whole;
  for (std::size_t i = 0; i < from.size(); ++i) {
    whole.push_back(call.exprs().multiply(from[i], repeats[i]));
    if (!from[i].is(1) && !repeats[i].is(1)) {
      apart.push_back(1);
      expanded.push_back(repeats[i]);
    }
    apart.push_back(from[i]);
    expanded.push_back(from[i].is(1) ? repeats[i] : from[i]);
  }
  // Leading axes of size 1 come with expand itself.
  const auto first = std::ranges::find_if(apart, [](Dim dim) { return !dim.is(1); });
  const auto lead = std::min(first - apart.begin(),
                             static_cast<std::ptrdiff_t>(apart.size()) - static_cast<std::ptrdiff_t>(call.rank(value)));
  apart.erase(apart.begin(), apart.begin() + std::max<std::ptrdiff_t>(lead, 0));
  const ValueId copies = TRY(call.expand(TRY(call.reshape(value, std::move(apart))), std::move(expanded)));
  return call.reshape(copies, std::move(whole));
}

Expected<std::vector<ValueId>> read_repeat(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(repeated(call, self, TRY(call.dims("repeats"))));
}

Expected<std::vector<ValueId>> read_tile(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  Dims repeats = TRY(call.dims("dims"));
  const auto rank = static_cast<std::size_t>(call.rank(self));
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), Dim(1));
  return one(repeated(call, self, repeats));
}

// The argument `dim`, or everything as one axis where there is none.
struct Along {
  ValueId value;
  std::int64_t axis;
};
Expected<Along> along_dim(Call& call, ValueId self) {
  if (call.has("dim") && call.rank(self) > 0) return Along{self, TRY(call.axis("dim", call.rank(self)))};
  return Along{TRY(call.reshape(self, {call.exprs().product(call.shape(self))})), 0};
}

Expected<std::vector<ValueId>> read_repeat_interleave(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Dim repeats = TRY(call.dim("repeats"));
  TRY(demand_repeats(std::span(&repeats, 1)));
  const Along along = TRY(along_dim(call, self));
  if (repeats.is(1)) return one(along.value);
  const Shape shape = call.shape(along.value);
  const Dim size = shape[static_cast<std::size_t>(along.axis)];
  const ValueId apart = TRY(call.reshape(along.value, with_axis(shape, along.axis, {size, Dim(1)})));
  const ValueId copies = TRY(call.expand(apart, with_axis(shape, along.axis, {size, repeats})));
  return one(call.reshape(copies, with_axis(shape, along.axis, {call.exprs().multiply(size, repeats)})));
}

// Position i as often as the i-th of the counts says.
Expected<Ints> spread(const Ints& counts) {
  Ints positions;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) return bad_input(fmt::format("invalid number of repeats: {}", counts[i]));
    if (counts[i] > kMaxElements - static_cast<std::int64_t>(positions.size())) {
      return Call::unsupported("the repeated tensor is too large");
    }
    positions.insert(positions.end(), static_cast<std::size_t>(counts[i]), static_cast<std::int64_t>(i));
  }
  return positions;
}

Expected<std::vector<ValueId>> read_repeat_interleave_counts(Call& call) {
  auto counts = known_integers(call.graph(), TRY(call.tensor("repeats")));
  if (!counts) return Call::unsupported("the output size depends on the values of repeats");
  if (!call.has("self")) return std::vector{call.integers(TRY(spread(*counts)))};
  const Along along = TRY(along_dim(call, TRY(call.tensor("self"))));
  const Dim size = call.size(along.value, along.axis);
  if (!size.is_fixed()) return Call::unsupported("repeat_interleave with counts needs a static size");
  if (counts->size() == 1 && size.value() <= kMaxElements) {
    const std::int64_t count = (*counts)[0];
    counts->assign(static_cast<std::size_t>(size.value()), count);
  }
  if (static_cast<std::int64_t>(counts->size()) != size.value()) {
    return bad_input(fmt::format("{} counts for {} elements", counts->size(), size.value()));
  }
  return one(select_positions(call, along.value, along.axis, TRY(spread(*counts))));
}

Expected<std::vector<ValueId>> grid_of(Call& call, const std::vector<ValueId>& tensors, bool is_xy) {
  Shape shape;
  for (const ValueId tensor : tensors) {
    if (call.rank(tensor) > 1)
      return bad_input(fmt::format("meshgrid needs vectors, an input has rank {}", call.rank(tensor)));
    shape.push_back(call.rank(tensor) == 0 ? Dim(1) : call.size(tensor, 0));
  }
  const bool is_swapped = is_xy && tensors.size() > 1;
  if (is_swapped) std::swap(shape[0], shape[1]);
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t axis = is_swapped && i < 2 ? 1 - i : i;
    Shape line(shape.size(), Dim(1));
    line[axis] = shape[axis];
    results.push_back(TRY(call.expand(TRY(call.reshape(tensors[i], std::move(line))), shape)));
  }
  return results;
}

Expected<std::vector<ValueId>> read_meshgrid(Call& call) {
  const std::string indexing = TRY(call.text("indexing", "ij"));
  if (indexing != "ij" && indexing != "xy") return bad_input(fmt::format("unknown indexing \"{}\"", indexing));
  return grid_of(call, TRY(call.tensors("tensors")), indexing == "xy");
}

Expected<std::vector<ValueId>> read_cartesian_prod(Call& call) {
  const std::vector<ValueId> tensors = TRY(call.tensors("tensors"));
  if (tensors.size() == 1) return tensors;
  std::vector<ValueId> columns;
  for (const ValueId grid : TRY(grid_of(call, tensors, false))) {
    columns.push_back(TRY(call.reshape(grid, {call.exprs().product(call.shape(grid)), Dim(1)})));
  }
  return one(call.cat(std::move(columns), 1));
}

}  // namespace

std::vector<Spelling> expand_spellings() {
  return {
      {"aten.expand", read_expand, Aliasing::kView},
      {"aten.broadcast_to", read_expand, Aliasing::kView},
      {"aten.expand_as", read_expand_as, Aliasing::kView},
  };
}

std::vector<Spelling> repeat_spellings() {
  return {
      {"aten.broadcast_tensors", read_broadcast_tensors},
      {"aten.repeat", read_repeat},
      {"aten.tile", read_tile},
      {"aten.repeat_interleave.self_int", read_repeat_interleave},
      {"aten.repeat_interleave", read_repeat_interleave_counts},
      {"aten.meshgrid", read_meshgrid},
      {"aten.cartesian_prod", read_cartesian_prod},
  };
}

}  // namespace isthmus
