// Ops that only move numbers: reshape, permute, expand, slice, flip; what each demands and gives.
#include "ops/families/movement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ops/demands.h"
#include "ops/families.h"
#include "ops/known.h"

namespace isthmus {
namespace {

Expected<TensorType> infer_reshape(const InferContext& context) {
  TensorType result{context.inputs[0].dtype, context.as<ShapeAttrs>().shape};
  TRY(demand_countable(result));
  const Dim before = context.exprs.product(context.inputs[0].shape);
  const Dim after = context.exprs.product(result.shape);
  const auto hint_before = context.exprs.hint(before);
  const auto hint_after = context.exprs.hint(after);
  const bool differ_at_export = hint_before && hint_after && *hint_before != *hint_after;
  if (before != after && (differ_at_export || surely_differ(context.exprs, before, after))) {
    return bad_input(
        fmt::format("the shape has {} elements, the input {}", context.exprs.text(after), context.exprs.text(before)));
  }
  return result;
}

Expected<TensorType> infer_permute(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const Ints& axes = context.as<AxesAttrs>().axes;
  Ints sorted = axes;
  std::ranges::sort(sorted);
  Ints all(input.rank());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    return bad_input(fmt::format("[{}] is not a permutation of {} axes", fmt::join(axes, ","), input.rank()));
  }
  TensorType result{input.dtype, {}};
  for (const std::int64_t axis : axes) result.shape.push_back(input.shape[static_cast<std::size_t>(axis)]);
  return result;
}

Expected<TensorType> infer_expand(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  TensorType result{input.dtype, context.as<ShapeAttrs>().shape};
  TRY(demand_countable(result));
  if (result.rank() < input.rank()) {
    return bad_input(fmt::format("rank {} does not expand to rank {}", input.rank(), result.rank()));
  }
  const std::size_t lead = result.rank() - input.rank();
  for (std::size_t i = 0; i < input.rank(); ++i) {
    const Dim from = input.shape[i];
    const Dim to = result.shape[lead + i];
    if (!from.is(1) && surely_differ(context.exprs, from, to) && surely_differ(context.exprs, from, 1)) {
      return bad_input(fmt::format("size {} does not expand to {}", context.exprs.text(from), context.exprs.text(to)));
    }
  }
  return result;
}

Expected<TensorType> infer_slice(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const SliceAttrs& slice = context.as<SliceAttrs>();
  if (slice.axis < 0 || slice.axis >= static_cast<std::int64_t>(input.rank())) {
    return bad_input(fmt::format("axis {} is out of range for rank {}", slice.axis, input.rank()));
  }
  if (slice.step < 1) return bad_input(fmt::format("the step is {}, expected at least 1", slice.step));
  Exprs& exprs = context.exprs;
  const Dim size = input.shape[static_cast<std::size_t>(slice.axis)];
  if (surely_exceeds(exprs, 0, slice.start) || surely_exceeds(exprs, slice.start, slice.end) ||
      surely_exceeds(exprs, slice.end, size)) {
    return bad_input(fmt::format("elements {} to {} are out of range for size {}", exprs.text(slice.start),
                                 exprs.text(slice.end), exprs.text(size)));
  }
  TensorType result = input;
  // Rounded up without a sum that could overflow.
  const Dim length = exprs.subtract(slice.end, slice.start);
  Dim& count = result.shape[static_cast<std::size_t>(slice.axis)];
  if (slice.step == 1) {
    count = length;
  } else if (length.is_fixed()) {
    count = length.value() / slice.step + (length.value() % slice.step != 0 ? 1 : 0);
  } else {
    count = exprs.floor_divide(exprs.add(length, slice.step - 1), slice.step);
  }
  return result;
}

Expected<TensorType> infer_flip(const InferContext& context) {
  TRY(demand_axes(context.as<AxesAttrs>().axes, context.inputs[0].rank()));
  return context.inputs[0];
}

std::vector<Spelling> movement_compounds() {
  std::vector<Spelling> result;
  for (auto part :
       {repeat_spellings(), split_spellings(), rearrange_spellings(), diagonal_spellings(), window_spellings()}) {
    std::ranges::move(part, std::back_inserter(result));
  }
  return result;
}

}  // namespace

Family movement_family() {
  static const OpDef kOps[] = {
      {.op = Op::kReshape,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData},
       .infer = infer_reshape,
       .spellings = reshape_spellings()},
      {.op = Op::kPermute,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData},
       .infer = infer_permute,
       .spellings = permute_spellings()},
      {.op = Op::kExpand,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData},
       .infer = infer_expand,
       .spellings = expand_spellings(),
       .broadcasts = true},
      {.op = Op::kSlice,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData},
       .infer = infer_slice,
       .spellings = slice_spellings()},
      {.op = Op::kFlip,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData},
       .infer = infer_flip,
       .spellings = flip_spellings()},
  };
  static const std::vector<Spelling> kCompounds = movement_compounds();
  return {"movement", kOps, kCompounds};
}

Shape with_axis(const Shape& shape, std::int64_t axis, const Shape& others) {
  const auto place = shape.begin() + axis;
  Shape result(shape.begin(), place);
  result.insert(result.end(), others.begin(), others.end());
  result.insert(result.end(), place + 1, shape.end());
  return result;
}

Expected<ValueId> unsqueeze(Emitter& emitter, ValueId value, std::int64_t axis) {
  Shape shape = emitter.shape(value);
  shape.insert(shape.begin() + axis, Dim(1));
  return emitter.reshape(value, std::move(shape));
}

Expected<ValueId> transpose(Emitter& emitter, ValueId value, std::int64_t a, std::int64_t b) {
  Ints axes(static_cast<std::size_t>(emitter.rank(value)));
  if (axes.empty()) return value;
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(a)], axes[static_cast<std::size_t>(b)]);
  return emitter.permute(value, std::move(axes));
}

Expected<ValueId> strided_slice(Emitter& emitter, ValueId value, std::int64_t axis, Dim start, Dim count,
                                std::int64_t step) {
  Exprs& exprs = emitter.exprs();
  if (count.is(0)) return emitter.slice(value, axis, 0, 0);
  if (count.is(1) || step == 1) return emitter.slice(value, axis, start, exprs.add(start, count));
  const Dim reach = exprs.multiply(exprs.subtract(count, 1), step);
  return emitter.slice(value, axis, start, exprs.add(exprs.add(start, reach), 1), step);
}

}  // namespace isthmus
