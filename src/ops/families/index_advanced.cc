// Indexing with several tensors: x[i, :, j] and x[i, :, j] = y, and with masks.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/demands.h"
#include "ops/families/index.h"
#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

// One index tensor and the axis that it indexes.
struct Entry {
  std::int64_t axis;
  ValueId index;
};

bool is_mask(DType dtype) { return dtype == DType::kBool || dtype == DType::kU8; }

// The positions where a known mask is true, as one index per axis of the mask.
Expected<std::vector<ValueId>> positions_of(Call& call, ValueId mask) {
  const auto bools = known_integers(call.graph(), mask);
  const auto sizes = fixed_sizes(call.shape(mask));
  if (!bools || !sizes) return Call::unsupported("the output size depends on the values of a mask");
  std::vector<Ints> positions(sizes->size());
  for (std::size_t i = 0; i < bools->size(); ++i) {
    if ((*bools)[i] == 0) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = sizes->size(); axis-- > 0;) {
      positions[axis].push_back(rest % (*sizes)[axis]);
      rest /= (*sizes)[axis];
    }
  }
  std::vector<ValueId> result;
  for (const Ints& list : positions) result.push_back(call.integers(list));
  return result;
}

// The index tensors with their axes; masks are replaced by positions.
Expected<std::vector<Entry>> entries_of(Call& call, ValueId self) {
  std::vector<Entry> entries;
  std::int64_t axis = 0;
  for (const auto& item : TRY(call.optional_tensors("indices"))) {
    if (!item) {
      ++axis;
      continue;
    }
    if (!is_mask(call.type(*item).dtype)) {
      entries.push_back({axis++, *item});
      continue;
    }
    if (call.rank(*item) == 0) return Call::unsupported("indexing by a single bool is not supported");
    for (std::int64_t k = 0; k < call.rank(*item); ++k) {
      if (axis + k < call.rank(self) && surely_differ(call.exprs(), call.size(*item, k), call.size(self, axis + k))) {
        return bad_input(fmt::format("the mask does not match dimension {}", axis + k));
      }
    }
    for (const ValueId positions : TRY(positions_of(call, *item))) entries.push_back({axis++, positions});
  }
  if (axis > call.rank(self)) return bad_input(fmt::format("{} indices for rank {}", axis, call.rank(self)));
  return entries;
}

// Indexed axes that lie side by side keep their place; others come first.
std::int64_t place_of(const std::vector<Entry>& entries) {
  const std::int64_t reach = entries.back().axis - entries.front().axis;
  return reach == static_cast<std::int64_t>(entries.size()) - 1 ? entries.front().axis : 0;
}

Expected<Shape> broadcast_of(Call& call, const std::vector<Entry>& entries) {
  Shape shape;
  for (const Entry& entry : entries) shape = TRY(broadcast(call.exprs(), shape, Shape(call.shape(entry.index))));
  return shape;
}

// The indexed axes side by side, and made one.
struct Merged {
  ValueId value;
  std::int64_t axis;  // the one
  Ints order;         // of the axes when they lie side by side
  Shape apart;        // the shape then
};

Expected<Merged> merged(Call& call, ValueId self, const std::vector<Entry>& entries) {
  const std::int64_t place = place_of(entries);
  Ints order;
  for (std::int64_t axis = 0; axis < call.rank(self); ++axis) {
    if (std::ranges::find(entries, axis, &Entry::axis) == entries.end()) order.push_back(axis);
  }
  Ints indexed;
  for (const Entry& entry : entries) indexed.push_back(entry.axis);
  order.insert(order.begin() + place, indexed.begin(), indexed.end());
  const ValueId moved = TRY(call.permute(self, order));
  const Shape apart = call.shape(moved);
  const auto first = apart.begin() + place;
  const auto last = first + static_cast<std::ptrdiff_t>(entries.size());
  Shape shape(apart.begin(), first);
  shape.push_back(call.exprs().product(Shape(first, last)));
  shape.insert(shape.end(), last, apart.end());
  return Merged{TRY(call.reshape(moved, std::move(shape))), place, std::move(order), apart};
}

// Where every index is known, so are the positions along the merged axis.
Expected<std::optional<ValueId>> known_index(Call& call, ValueId self, const std::vector<Entry>& entries) {
  const auto sizes = fixed_sizes(TRY(broadcast_of(call, entries)));
  if (!sizes) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t size : *sizes) {
    if (size > kMaxElements || (count *= size) > kMaxElements) return std::nullopt;
  }
  Ints positions(static_cast<std::size_t>(count), 0);
  for (const Entry& entry : entries) {
    const Dim size = call.size(self, entry.axis);
    const bool is_first = entry.axis == entries.front().axis;
    const auto known = known_integers(call.graph(), entry.index);
    // The size of the first axis is never multiplied with, so it may be symbolic.
    if (!known || (!size.is_fixed() && !is_first)) return std::nullopt;
    const Ints normal = TRY(normal_positions(*known, size));
    const Ints own = *fixed_sizes(call.shape(entry.index));
    const Ints strides = row_major_strides(own);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      std::int64_t from = 0;
      for (std::size_t k = 1; k <= own.size(); ++k) {
        const std::int64_t along = rest % (*sizes)[sizes->size() - k];
        if (own[own.size() - k] != 1) from += along * strides[own.size() - k];
        rest /= (*sizes)[sizes->size() - k];
      }
      std::int64_t& position = positions[static_cast<std::size_t>(i)];
      if (__builtin_mul_overflow(position, is_first ? 0 : size.value(), &position) ||
          __builtin_add_overflow(position, normal[static_cast<std::size_t>(from)], &position)) {
        return bad_input("an index is out of range");
      }
    }
  }
  return call.constant(positions, *sizes);
}

// Positions counted from the end made others, while the model runs.
Expected<ValueId> from_the_front(Call& call, ValueId index, Dim size) {
  if (!size.is_fixed()) return Call::unsupported("indexing with several tensors needs a static shape");
  if (const auto known = known_integers(call.graph(), index)) {
    return call.constant(TRY(normal_positions(*known, size)), *fixed_sizes(call.shape(index)));
  }
  const ValueId wide = TRY(call.cast(index, DType::kI64));
  const ValueId is_negative = TRY(call.binary(Op::kLt, wide, call.scalar(std::int64_t{0}, DType::kI64)));
  const ValueId moved = TRY(call.binary(Op::kAdd, wide, call.scalar(size.value(), DType::kI64)));
  return call.emit(Op::kWhere, NoAttrs{}, {is_negative, moved, wide});
}

// Positions along the merged axis, in the shape to which all indices broadcast.
Expected<ValueId> linear_index(Call& call, ValueId self, const std::vector<Entry>& entries) {
  if (entries.size() == 1) return entries[0].index;
  if (const auto known = TRY(known_index(call, self, entries))) return *known;
  std::optional<ValueId> sum;
  for (const Entry& entry : entries) {
    const Dim size = call.size(self, entry.axis);
    const ValueId index = TRY(from_the_front(call, entry.index, size));
    if (!sum) {
      sum = index;
      continue;
    }
    const ValueId scaled = TRY(call.binary(Op::kMul, *sum, call.scalar(size.value(), DType::kI64)));
    sum = TRY(call.binary(Op::kAdd, scaled, index));
  }
  const Shape shape = TRY(broadcast_of(call, entries));
  return call.expand(*sum, shape);
}

// x[i[:, None], j] is x[i][:, j]: indices that vary along axes of their own are taken one by one.
bool is_outer(Call& call, const std::vector<Entry>& entries) {
  const std::size_t count = entries.size();
  if (entries.back().axis - entries.front().axis != static_cast<std::int64_t>(count) - 1) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Shape& shape = call.shape(entries[i].index);
    if (shape.size() > count || shape.size() + i < count || (i == 0 && shape.size() != count)) return false;
    const std::size_t own = shape.size() + i - count;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (k != own && !shape[k].is(1)) return false;
    }
  }
  return true;
}

Expected<std::vector<ValueId>> read_index(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::vector<Entry> entries = TRY(entries_of(call, self));
  if (entries.empty()) return one(self);
  if (entries.size() > 1 && is_outer(call, entries)) {
    ValueId value = self;
    for (const Entry& entry : entries) {
      const Dim count = call.exprs().product(Shape(call.shape(entry.index)));
      value = TRY(pick(call, value, entry.axis, TRY(call.reshape(entry.index, {count}))));
    }
    return one(value);
  }
  const ValueId index = TRY(linear_index(call, self, entries));
  const Merged whole = TRY(merged(call, self, entries));
  return one(pick(call, whole.value, whole.axis, index));
}

// x[mask] = value, which needs no positions: the mask with an axis of size 1 for each axis that it does not index.
Expected<std::optional<ValueId>> put_by_mask(Call& call, ValueId self, ValueId values, bool accumulates) {
  const auto items = TRY(call.optional_tensors("indices"));
  std::optional<ValueId> mask;
  std::int64_t before = 0;
  for (const auto& item : items) {
    if (item && (mask || call.type(*item).dtype != DType::kBool)) return std::nullopt;
    if (item) mask = *item;
    if (!mask) ++before;
  }
  const bool is_single = call.exprs().product(Shape(call.shape(values))).is(1);
  if (!mask || !is_single || before + call.rank(*mask) > call.rank(self)) return std::nullopt;
  Shape shape = call.shape(*mask);
  shape.resize(static_cast<std::size_t>(call.rank(self) - before), Dim(1));
  const ValueId wide = TRY(call.reshape(*mask, std::move(shape)));
  ValueId value = TRY(call.reshape(values, {}));
  if (accumulates) value = TRY(call.binary(Op::kAdd, self, value));
  return call.emit(Op::kWhere, NoAttrs{}, {wide, value, self});
}

Expected<std::vector<ValueId>> read_index_put(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const bool accumulates = TRY(call.flag("accumulate", false));
  const ValueId values = TRY(call.operand("values", call.type(self).dtype));
  if (const auto done = TRY(put_by_mask(call, self, values, accumulates))) return one(*done);
  const std::vector<Entry> entries = TRY(entries_of(call, self));
  if (entries.empty()) return Call::unsupported("index_put without indices is not supported");
  const ValueId index = TRY(linear_index(call, self, entries));
  const Merged whole = TRY(merged(call, self, entries));
  const Shape places = call.shape(index);
  const Shape shape = call.shape(whole.value);
  const ValueId spread = TRY(call.expand(values, with_axis(shape, whole.axis, places)));
  const Dim count = call.exprs().product(places);
  const ValueId source = TRY(call.reshape(spread, with_axis(shape, whole.axis, {count})));
  const ValueId put =
      TRY(place(call, whole.value, whole.axis, index, source, accumulates ? ScatterMode::kAdd : ScatterMode::kSet));
  Ints back(whole.order.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    back[static_cast<std::size_t>(whole.order[i])] = static_cast<std::int64_t>(i);
  }
  return one(call.permute(TRY(call.reshape(put, whole.apart)), std::move(back)));
}

// Into all elements in row-major order.
Expected<std::vector<ValueId>> read_put(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Shape shape = call.shape(self);
  const ValueId index = TRY(call.tensor("index"));
  const ValueId source = TRY(call.operand("source", call.type(self).dtype));
  const ValueId flat = TRY(call.reshape(self, {call.exprs().product(shape)}));
  const ValueId line = TRY(call.reshape(index, {call.exprs().product(Shape(call.shape(index)))}));
  const ValueId from = TRY(call.reshape(source, {call.exprs().product(Shape(call.shape(source)))}));
  const ScatterMode mode = TRY(call.flag("accumulate", false)) ? ScatterMode::kAdd : ScatterMode::kSet;
  return one(call.reshape(TRY(scatter(call, flat, 0, line, from, mode)), shape));
}

}  // namespace

std::vector<Spelling> advanced_index_spellings() {
  return {
      {"aten.index", read_index},
      {"aten._unsafe_index", read_index},
      {"aten.index_put", read_index_put},
      {"aten._unsafe_index_put", read_index_put},
      {"aten._index_put_impl", read_index_put},
      {"aten.put", read_put},
  };
}

}  // namespace isthmus
