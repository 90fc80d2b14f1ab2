// Ops that pick or place elements by index: what each demands and gives.
#include "ops/families/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ops/demands.h"
#include "ops/families.h"
#include "ops/families/movement.h"
#include "ops/known.h"

namespace isthmus {
namespace {

Expected<void> demand_index(const TensorType& index) {
  if (index.dtype == DType::kI64 || index.dtype == DType::kI32) return {};
  return bad_input(fmt::format("an index is {}, expected i64 or i32", name_of(index.dtype)));
}

Expected<void> demand_axis(std::int64_t axis, const TensorType& type) {
  if (axis >= 0 && axis < static_cast<std::int64_t>(type.rank())) return {};
  return bad_input(fmt::format("axis {} is out of range for rank {}", axis, type.rank()));
}

Expected<void> demand_no_larger(Exprs& exprs, const TensorType& index, const TensorType& other,
                                std::int64_t free_axis) {
  TRY(demand_rank(index, other.rank()));
  for (std::size_t i = 0; i < index.rank(); ++i) {
    if (static_cast<std::int64_t>(i) != free_axis && surely_exceeds(exprs, index.shape[i], other.shape[i])) {
      return bad_input(
          fmt::format("the index has size {}, the input {}", exprs.text(index.shape[i]), exprs.text(other.shape[i])));
    }
  }
  return {};
}

// The axes of the index take the place of the axis. Several of them count from the start only, as those of an
// embedding.
Expected<TensorType> infer_index_select(const InferContext& context) {
  TensorType result = context.inputs[0];
  const std::int64_t axis = context.as<AxisAttrs>().axis;
  TRY(demand_axis(axis, result));
  TRY(demand_index(context.inputs[1]));
  if (context.inputs[1].rank() == 0) return bad_input("the index is a 0-d tensor");
  result.shape = with_axis(result.shape, axis, context.inputs[1].shape);
  TRY(demand_countable(result));
  return result;
}

Expected<TensorType> infer_gather(const InferContext& context) {
  const std::int64_t axis = context.as<AxisAttrs>().axis;
  TRY(demand_axis(axis, context.inputs[0]));
  TRY(demand_index(context.inputs[1]));
  TRY(demand_no_larger(context.exprs, context.inputs[1], context.inputs[0], axis));
  return TensorType{context.inputs[0].dtype, context.inputs[1].shape};
}

Expected<TensorType> infer_put(const InferContext& context) {
  const ScatterAttrs& attrs = context.as<ScatterAttrs>();
  TRY(demand_axis(attrs.axis, context.inputs[0]));
  TRY(demand_index(context.inputs[1]));
  TRY(demand_same_dtype(context.inputs[0], context.inputs[2]));
  TRY(demand_no_larger(context.exprs, context.inputs[1], context.inputs[0], attrs.axis));
  TRY(demand_no_larger(context.exprs, context.inputs[1], context.inputs[2], -1));
  return context.inputs[0];
}

Expected<TensorType> infer_scatter(const InferContext& context) {
  if (context.as<ScatterAttrs>().mode != ScatterMode::kSet) return bad_input("scatter supports only the mode set");
  return infer_put(context);
}

Expected<TensorType> infer_scatter_reduce(const InferContext& context) {
  if (context.as<ScatterAttrs>().mode == ScatterMode::kSet)
    return bad_input("scatter_reduce does not support the mode set");
  TRY(demand_numbers(context.inputs[0]));
  return infer_put(context);
}

Expected<TensorType> infer_col2im(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const FoldAttrs& fold = context.as<FoldAttrs>();
  TRY(demand_floats(input));
  TRY(demand_rank(input, 3));
  TRY(demand_list(fold.size, 2, 1, "size"));
  TRY(demand_list(fold.kernel, 2, 1, "kernel"));
  TRY(demand_list(fold.stride, 2, 1, "stride"));
  TRY(demand_list(fold.padding, 2, 0, "padding"));
  TRY(demand_list(fold.dilation, 2, 1, "dilation"));
  Dim count = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim along =
        window_count(context.exprs, fold.size[i],
                     {fold.kernel[i], fold.stride[i], fold.padding[i], fold.padding[i], fold.dilation[i]});
    if (!along.is_fixed() || along.value() < 1) return bad_input("the window is larger than the image");
    count = context.exprs.multiply(count, along);
  }
  const Dim window = context.exprs.multiply(fold.kernel[0], fold.kernel[1]);
  const auto channels = context.exprs.divide_exactly(input.shape[1], window);
  if (!channels || surely_differ(context.exprs, input.shape[2], count)) {
    return bad_input(fmt::format("windows [{},{}], expected multiples of {} and {}", context.exprs.text(input.shape[1]),
                                 context.exprs.text(input.shape[2]), context.exprs.text(window),
                                 context.exprs.text(count)));
  }
  TensorType result{input.dtype, {input.shape[0], *channels, Dim(fold.size[0]), Dim(fold.size[1])}};
  TRY(demand_countable(result));
  return result;
}

std::vector<Spelling> index_compounds() {
  std::vector<Spelling> result = lookup_spellings();
  std::ranges::move(advanced_index_spellings(), std::back_inserter(result));
  return result;
}

}  // namespace

Expected<ValueId> pick(Emitter& emitter, ValueId value, std::int64_t axis, ValueId index) {
  const Shape places = emitter.shape(index);
  ValueId picked = value;
  if (const auto known = known_integers(emitter.graph(), index)) {
    picked = TRY(select_positions(emitter, value, axis, TRY(normal_positions(*known, emitter.size(value, axis)))));
  } else {
    const ValueId flat = TRY(emitter.reshape(index, {emitter.exprs().product(places)}));
    picked = TRY(emitter.emit(Op::kIndexSelect, AxisAttrs{axis}, {value, flat}));
  }
  return emitter.reshape(picked, with_axis(emitter.shape(picked), axis, places));
}

Expected<ValueId> scatter(Emitter& emitter, ValueId value, std::int64_t axis, ValueId index, ValueId source,
                          ScatterMode mode) {
  const Op op = mode == ScatterMode::kSet ? Op::kScatter : Op::kScatterReduce;
  return emitter.emit(op, ScatterAttrs{axis, mode}, {value, index, source});
}

Expected<ValueId> place(Emitter& emitter, ValueId value, std::int64_t axis, ValueId index, ValueId source,
                        ScatterMode mode) {
  Shape line(static_cast<std::size_t>(emitter.rank(value)), Dim(1));
  line[static_cast<std::size_t>(axis)] = emitter.exprs().product(emitter.shape(index));
  const Shape whole = emitter.shape(source);
  const ValueId spread = TRY(emitter.expand(TRY(emitter.reshape(index, std::move(line))), whole));
  return scatter(emitter, value, axis, spread, source, mode);
}

Expected<Ints> normal_positions(Ints positions, Dim size) {
  for (std::int64_t& position : positions) {
    if (!size.is_fixed()) {
      if (position < 0) return Call::unsupported("a negative index needs a static size");
      continue;
    }
    if (position < -size.value() || position >= size.value()) {
      return bad_input(fmt::format("index {} is out of range for size {}", position, size.value()));
    }
    if (position < 0) position += size.value();
  }
  return positions;
}

Family index_family() {
  static const OpDef kOps[] = {
      {.op = Op::kIndexSelect,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData, Role::kIndex},
       .required = 2,
       .infer = infer_index_select,
       .spellings = index_select_spellings()},
      {.op = Op::kGather,
       .flow = QFlow::kMovesData,
       .roles = {Role::kData, Role::kIndex},
       .required = 2,
       .infer = infer_gather,
       .spellings = gather_spellings()},
      {.op = Op::kScatter,
       .flow = QFlow::kJoinsInputs,
       .roles = {Role::kData, Role::kIndex, Role::kData},
       .required = 3,
       .infer = infer_scatter,
       .spellings = scatter_spellings()},
      {.op = Op::kScatterReduce,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kIndex, Role::kData},
       .required = 3,
       .infer = infer_scatter_reduce,
       .spellings = scatter_reduce_spellings()},
      {.op = Op::kCol2im,
       .flow = QFlow::kComputes,
       .roles = {Role::kData},
       .infer = infer_col2im,
       .spellings = fold_spellings()},
  };
  static const std::vector<Spelling> kCompounds = index_compounds();
  return {"index", kOps, kCompounds};
}

}  // namespace isthmus
