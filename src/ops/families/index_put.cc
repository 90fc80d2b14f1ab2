// Names that write elements by index: scatter, index_add, index_copy, slice_scatter and their like.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "ops/demands.h"
#include "ops/families/index.h"
#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

// What is written where; 0-d tensors count as 1-d ones.
struct Target {
  ValueId self;
  Shape shape;  // of self as it came
  std::int64_t axis;
  ValueId index;
};

Expected<ValueId> at_least_1d(Call& call, ValueId value) {
  return call.rank(value) == 0 ? call.reshape(value, {Dim(1)}) : value;
}

Expected<Target> target_of(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const Shape shape = call.shape(self);
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  const ValueId index = TRY(at_least_1d(call, TRY(call.tensor("index"))));
  return Target{TRY(at_least_1d(call, self)), shape, axis, index};
}

// The tensor `name`, or a number in the shape of the index.
Expected<ValueId> source_of(Call& call, const Target& target, std::string_view name) {
  const ValueId source = TRY(call.operand(name, call.type(target.self).dtype));
  if (call.tensor_if(name) && call.rank(source) > 0) return source;
  const Shape shape = call.shape(target.index);
  if (call.tensor_if(name)) return at_least_1d(call, source);
  return call.expand(source, shape);
}

struct Reduction {
  std::string_view name;
  ScatterMode mode;
};
constexpr Reduction kReductions[] = {
    {"add", ScatterMode::kAdd},       {"sum", ScatterMode::kAdd},  {"multiply", ScatterMode::kMultiply},
    {"prod", ScatterMode::kMultiply}, {"amin", ScatterMode::kMin}, {"amax", ScatterMode::kMax},
};

Expected<ScatterMode> mode_of(std::string_view name) {
  const auto found = std::ranges::find(kReductions, name, &Reduction::name);
  if (found == std::end(kReductions)) return bad_input(fmt::format("reduction \"{}\"", name));
  return found->mode;
}

Expected<std::vector<ValueId>> read_scatter(Call& call) {
  const Target target = TRY(target_of(call));
  const ValueId source = TRY(source_of(call, target, call.has("src") ? "src" : "value"));
  const ScatterMode mode = call.has("reduce") ? TRY(mode_of(TRY(call.text("reduce")))) : ScatterMode::kSet;
  return one(call.reshape(TRY(scatter(call, target.self, target.axis, target.index, source, mode)), target.shape));
}

Expected<std::vector<ValueId>> read_scatter_add(Call& call) {
  const Target target = TRY(target_of(call));
  const ValueId source = TRY(source_of(call, target, "src"));
  const ValueId sum = TRY(scatter(call, target.self, target.axis, target.index, source, ScatterMode::kAdd));
  return one(call.reshape(sum, target.shape));
}

// The number that changes nothing in a reduction.
Expected<ValueId> neutral(Call& call, ScatterMode mode, DType dtype) {
  if (mode == ScatterMode::kAdd) return call.scalar(std::int64_t{0}, dtype);
  if (mode == ScatterMode::kMultiply) return call.scalar(std::int64_t{1}, dtype);
  const bool is_min = mode == ScatterMode::kMax;
  if (is_floating(dtype)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return call.scalar(is_min ? -kInfinity : kInfinity, dtype);
  }
  if (dtype == DType::kBool) return call.scalar(std::int64_t{is_min ? 0 : 1}, dtype);
  const bool is_signed = info(dtype).kind == DTypeClass::kSigned;
  const std::size_t bits = size_of(dtype) * 8 - (is_signed ? 1 : 0);
  if (bits > 63) return Call::unsupported("a reduction of u64 is not supported");
  const std::int64_t max = static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
  return call.scalar(is_min ? (is_signed ? -max - 1 : 0) : max, dtype);
}

// Reduces `source` into the target; `put` does one scatter with a mode.
template <class Put>
Expected<ValueId> reduced(Call& call, ValueId self, ValueId source, const std::string& name, Put put) {
  const bool includes_self = TRY(call.flag("include_self", true));
  const DType dtype = call.type(self).dtype;
  const bool is_mean = name == "mean";
  const ScatterMode mode = is_mean ? ScatterMode::kAdd : TRY(mode_of(name));
  const auto filled = [&](ValueId number, ValueId like) { return call.expand(number, Shape(call.shape(like))); };
  ValueId start = self;
  if (!includes_self) {
    const ValueId nothing = TRY(filled(TRY(neutral(call, mode, dtype)), source));
    start = TRY(put(self, nothing, ScatterMode::kSet));
  }
  const ValueId total = TRY(put(start, source, mode));
  if (!is_mean) return total;
  const ValueId ones = TRY(filled(call.scalar(std::int64_t{1}, dtype), source));
  const ValueId first = TRY(filled(call.scalar(std::int64_t{includes_self ? 1 : 0}, dtype), self));
  ValueId count = TRY(put(first, ones, ScatterMode::kAdd));
  if (!includes_self) count = TRY(call.binary(Op::kMaximum, count, call.scalar(std::int64_t{1}, dtype)));
  return call.binary(is_floating(dtype) ? Op::kDiv : Op::kFloorDiv, total, count);
}

Expected<std::vector<ValueId>> read_scatter_reduce(Call& call) {
  const Target target = TRY(target_of(call));
  ValueId source = TRY(source_of(call, target, "src"));
  // Only as much of the source as the index covers takes part.
  for (std::int64_t axis = 0; axis < std::min(call.rank(source), call.rank(target.index)); ++axis) {
    source = TRY(call.slice(source, axis, 0, call.size(target.index, axis)));
  }
  const auto put = [&](ValueId into, ValueId from, ScatterMode mode) {
    return scatter(call, into, target.axis, target.index, from, mode);
  };
  return one(call.reshape(TRY(reduced(call, target.self, source, TRY(call.text("reduce")), put)), target.shape));
}

// The argument of the index_... names that is put at whole positions of an axis.
Expected<ValueId> slabs_of(Call& call, const Target& target) {
  const ValueId given = TRY(call.operand("source", call.type(target.self).dtype));
  const ValueId source = TRY(at_least_1d(call, given));
  Shape shape = call.shape(target.self);
  shape[static_cast<std::size_t>(target.axis)] = call.exprs().product(call.shape(target.index));
  if (call.rank(given) == 0) return call.expand(source, std::move(shape));
  if (call.rank(source) != call.rank(target.self)) {
    return bad_input(fmt::format("the source has rank {}, the tensor {}", call.rank(source), call.rank(target.self)));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (surely_differ(call.exprs(), shape[i], call.shape(source)[i])) {
      return bad_input(fmt::format("the source has size {} in dimension {}, expected {}",
                                   call.exprs().text(call.shape(source)[i]), i, call.exprs().text(shape[i])));
    }
  }
  return source;
}

Expected<std::vector<ValueId>> read_index_add(Call& call) {
  const Target target = TRY(target_of(call));
  ValueId source = TRY(slabs_of(call, target));
  if (call.has("alpha") && TRY(call.number("alpha")) != 1) {
    source = TRY(call.binary(Op::kMul, source, TRY(call.operand("alpha", call.type(source).dtype))));
  }
  const ValueId sum = TRY(place(call, target.self, target.axis, target.index, source, ScatterMode::kAdd));
  return one(call.reshape(sum, target.shape));
}

Expected<std::vector<ValueId>> read_index_copy(Call& call) {
  const Target target = TRY(target_of(call));
  const ValueId source = TRY(slabs_of(call, target));
  return one(
      call.reshape(TRY(place(call, target.self, target.axis, target.index, source, ScatterMode::kSet)), target.shape));
}

Expected<std::vector<ValueId>> read_index_fill(Call& call) {
  const Target target = TRY(target_of(call));
  const ValueId value = TRY(call.operand("value", call.type(target.self).dtype));
  if (call.rank(value) != 0) return bad_input("index_fill needs a scalar value");
  Shape shape = call.shape(target.self);
  shape[static_cast<std::size_t>(target.axis)] = call.exprs().product(call.shape(target.index));
  const ValueId source = TRY(call.expand(value, std::move(shape)));
  return one(
      call.reshape(TRY(place(call, target.self, target.axis, target.index, source, ScatterMode::kSet)), target.shape));
}

Expected<std::vector<ValueId>> read_index_reduce(Call& call) {
  const Target target = TRY(target_of(call));
  const ValueId source = TRY(slabs_of(call, target));
  const auto put = [&](ValueId into, ValueId from, ScatterMode mode) {
    return place(call, into, target.axis, target.index, from, mode);
  };
  return one(call.reshape(TRY(reduced(call, target.self, source, TRY(call.text("reduce")), put)), target.shape));
}

// Part of an axis replaced: what lies before, the new, what lies after.
Expected<ValueId> replaced(Call& call, ValueId self, std::int64_t axis, Range range, ValueId source) {
  std::vector<ValueId> parts;
  if (!range.start.is(0)) parts.push_back(TRY(call.slice(self, axis, 0, range.start)));
  parts.push_back(source);
  const Dim size = call.size(self, axis);
  if (range.end != size) parts.push_back(TRY(call.slice(self, axis, range.end, size)));
  return call.cat(std::move(parts), axis);
}

Expected<std::vector<ValueId>> read_slice_scatter(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) == 0) return bad_input("a 0-d tensor cannot be sliced");
  const ValueId source = TRY(call.operand("src", call.type(self).dtype));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), 0));
  const std::int64_t step = TRY(call.integer("step", 1));
  if (step < 1) return bad_input(fmt::format("the step is {}, expected at least 1", step));
  const Range range = python_range(call.exprs(), call.size(self, axis), TRY(call.dim("start", Dim(0))),
                                   TRY(call.dim("end", Dim(std::numeric_limits<std::int64_t>::max()))));
  if (step == 1) {
    Shape shape = call.shape(self);
    shape[static_cast<std::size_t>(axis)] = call.exprs().subtract(range.end, range.start);
    return one(replaced(call, self, axis, range, TRY(call.expand(source, std::move(shape)))));
  }
  if (!range.start.is_fixed() || !range.end.is_fixed()) {
    return Call::unsupported("writing with a step needs a static size");
  }
  if (range.end.value() - range.start.value() > kMaxElements) return Call::unsupported("the slice is too large");
  Ints positions;
  for (std::int64_t i = range.start.value(); i < range.end.value();) {
    positions.push_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  Shape shape = call.shape(self);
  shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(positions.size());
  const ValueId slabs = TRY(call.expand(source, std::move(shape)));
  return one(place(call, self, axis, call.integers(positions), slabs, ScatterMode::kSet));
}

Expected<std::vector<ValueId>> read_select_scatter(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) == 0) return bad_input("select needs at least one dimension");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  const ValueId source = TRY(call.operand("src", call.type(self).dtype));
  Dim index = TRY(call.dim("index"));
  if (index.is_fixed() && index.value() < 0) index = call.exprs().add(index, call.size(self, axis));
  const ValueId part = TRY(call.expand(source, with_axis(call.shape(self), axis, {})));
  const Range range{index, call.exprs().add(index, 1)};
  return one(replaced(call, self, axis, range, TRY(unsqueeze(call, part, axis))));
}

Expected<std::vector<ValueId>> read_diagonal_scatter(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t rank = call.rank(self);
  const ValueId source = TRY(call.operand("src", call.type(self).dtype));
  const std::int64_t a = TRY(call.axis("dim1", rank, 0));
  const std::int64_t b = TRY(call.axis("dim2", rank, 1));
  if (rank < 2 || a == b) return bad_input("diagonal needs two different axes");
  const Moved moved = TRY(to_the_end(call, self, a, b));
  const Shape shape = call.shape(moved.value);
  const Dim rows = shape[shape.size() - 2];
  const Dim columns = shape.back();
  if (!rows.is_fixed() || !columns.is_fixed() || columns.value() > kMaxElements || rows.value() > kMaxElements) {
    return Call::unsupported("diagonal needs static sizes");
  }
  const std::int64_t offset = std::clamp(TRY(call.integer("offset", 0)), -kMaxElements, kMaxElements);
  Ints positions;
  for (std::int64_t i = 0; i < rows.value(); ++i) {
    if (i + offset >= 0 && i + offset < columns.value()) positions.push_back(i * columns.value() + i + offset);
  }
  Shape flat(shape.begin(), shape.end() - 2);
  Shape line = flat;
  flat.push_back(call.exprs().multiply(rows, columns));
  line.push_back(static_cast<std::int64_t>(positions.size()));
  const auto axis = static_cast<std::int64_t>(flat.size()) - 1;
  const ValueId into = TRY(call.reshape(moved.value, std::move(flat)));
  const ValueId put = TRY(
      place(call, into, axis, call.integers(positions), TRY(call.expand(source, std::move(line))), ScatterMode::kSet));
  return one(call.permute(TRY(call.reshape(put, shape)), moved.back));
}

// The elements of the source in order, at the places where the mask is true.
Expected<std::vector<ValueId>> read_masked_scatter(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId source = TRY(call.operand("source", call.type(self).dtype));
  const Shape shape =
      TRY(broadcast(call.exprs(), Shape(call.shape(self)), Shape(call.shape(TRY(call.tensor("mask"))))));
  const ValueId mask = TRY(call.expand(TRY(call.cast(TRY(call.tensor("mask")), DType::kBool)), shape));
  const ValueId flat = TRY(call.reshape(TRY(call.cast(mask, DType::kI64)), {call.exprs().product(shape)}));
  const ValueId rank = TRY(call.emit(Op::kCumsum, AxisAttrs{0}, {flat}));
  const ValueId before = TRY(call.binary(Op::kSub, rank, call.scalar(std::int64_t{1}, DType::kI64)));
  const ValueId position = TRY(call.binary(Op::kMaximum, before, call.scalar(std::int64_t{0}, DType::kI64)));
  const Dim count = call.exprs().product(call.shape(source));
  if (count.is(0)) return Call::unsupported("masked_scatter from an empty tensor is not supported");
  const ValueId line = TRY(call.reshape(source, {count}));
  const ValueId picked = TRY(call.emit(Op::kIndexSelect, AxisAttrs{0}, {line, position}));
  return one(call.emit(Op::kWhere, NoAttrs{}, {mask, TRY(call.reshape(picked, shape)), self}));
}

// Numbers go back to where a pool found them; all other places are 0. An index counts the places of one image.
Expected<Values> max_unpool(Call& call, std::int64_t spatial) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId index = TRY(call.tensor("indices"));
  const std::vector<Dim> size = TRY(call.dims("output_size"));
  const std::int64_t kept = call.rank(self) - spatial;
  if (kept < 1 || static_cast<std::int64_t>(size.size()) != spatial || call.rank(index) != call.rank(self)) {
    return bad_input(call.target() + ": unsupported rank of the images");
  }
  const Shape shape = call.shape(self);
  const auto with_images = [&](std::span<const Dim> of_image) {
    Shape result(shape.begin(), shape.begin() + kept);
    result.insert(result.end(), of_image.begin(), of_image.end());
    return result;
  };
  const Dim places = call.exprs().product(Shape(size.begin(), size.end()));
  const Dim pooled = call.exprs().product(Shape(shape.begin() + kept, shape.end()));
  const ValueId empty = TRY(call.expand(call.scalar(0.0, call.type(self).dtype), with_images({&places, 1})));
  const ValueId flat_index = TRY(call.reshape(index, with_images({&pooled, 1})));
  const ValueId flat = TRY(call.reshape(self, with_images({&pooled, 1})));
  const ValueId filled = TRY(scatter(call, empty, kept, flat_index, flat, ScatterMode::kSet));
  return one(call.reshape(filled, with_images(size)));
}
Expected<Values> read_max_unpool2d(Call& call) { return max_unpool(call, 2); }
Expected<Values> read_max_unpool3d(Call& call) { return max_unpool(call, 3); }

}  // namespace

std::vector<Spelling> scatter_spellings() {
  return {
      {"aten.scatter", read_scatter},
      {"aten.index_copy", read_index_copy},
      {"aten.index_fill", read_index_fill},
      {"aten.slice_scatter", read_slice_scatter},
      {"aten.select_scatter", read_select_scatter},
      {"aten.diagonal_scatter", read_diagonal_scatter},
      {"aten.masked_scatter", read_masked_scatter},
      {"aten.max_unpool2d", read_max_unpool2d},
      {"aten.max_unpool3d", read_max_unpool3d},
  };
}

std::vector<Spelling> scatter_reduce_spellings() {
  return {
      {"aten.scatter_add", read_scatter_add},
      {"aten.scatter_reduce", read_scatter_reduce},
      {"aten.index_add", read_index_add},
      {"aten.index_reduce", read_index_reduce},
  };
}

}  // namespace isthmus
