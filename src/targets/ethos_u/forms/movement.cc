// Forms of what moves quantized values: they stay as they are.
#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "targets/ethos_u/forms/form_families.h"

namespace isthmus::ethos_u {
namespace {

OrderDemand reshape_order(const Graph&, const Node&) { return {OrderRule::kReshape}; }
OrderDemand permute_order(const Graph&, const Node&) { return {OrderRule::kPermute}; }
OrderDemand indexed_order(const Graph&, const Node&) { return {OrderRule::kRowMajor}; }

Expected<Operand> reshape(NodeLowering& lowering) {
  return lowering.out.reshape(lowering.inputs[0], lowering.result_shape());
}

// Only the names of axes change.
Expected<Operand> permute(NodeLowering& lowering) { return lowering.inputs[0]; }

std::optional<Reason> refuse_expand(const NodeForm& form) {
  if (form.sizes(0).size() == form.sizes().size()) return std::nullopt;
  return Reason{ReasonCode::kRanks, "new axes"};
}
Expected<Operand> expand(NodeLowering& lowering) {
  const Operand& x = lowering.inputs[0];
  const Ints shape = lowering.result_shape();
  Ints times;
  for (std::size_t i = 0; i < shape.size(); ++i) times.push_back(shape[i] / x.shape[i]);
  return lowering.out.emit(tosa::Op::kTile, tosa::Nothing{}, {x.id, lowering.out.sizes(times)}, x.type, shape);
}

std::optional<Reason> refuse_slice(const NodeForm& form) {
  const std::int64_t step = form.attrs<SliceAttrs>().step;
  if (step == 1) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("every {}th element", step)};
}
Expected<Operand> slice(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<SliceAttrs>();
  Ints start(lowering.inputs[0].shape.size(), 0);
  start[static_cast<std::size_t>(lowering.place(attrs.axis))] = attrs.start.value();
  return lowering.out.slice(lowering.inputs[0], start, lowering.result_shape());
}

Expected<Operand> flip(NodeLowering& lowering) {
  Operand value = lowering.inputs[0];
  for (const std::int64_t axis : lowering.attrs<AxesAttrs>().axes) {
    const tosa::Axis fields{static_cast<std::int32_t>(lowering.place(axis))};
    value = lowering.out.emit(tosa::Op::kReverse, fields, {value.id}, value.type, value.shape);
  }
  return value;
}

std::optional<Reason> refuse_pad(const NodeForm& form) {
  if (form.attrs<PadAttrs>().mode == PadMode::kConstant) return std::nullopt;
  return Reason{ReasonCode::kNoForm, "a mirrored pad"};
}
Expected<Operand> pad(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<PadAttrs>();
  const TensorType type = lowering.type();
  const Operand& x = lowering.inputs[0];
  const Ints before = lowering.placed(attrs.before);
  const Ints after = lowering.placed(attrs.after);
  Ints sides;
  for (std::size_t i = 0; i < before.size(); ++i) sides.insert(sides.end(), {before[i], after[i]});
  const bool is_quantized = type.dtype != DType::kBool && type.dtype != DType::kI32;
  const std::int64_t value =
      is_quantized ? quantized_value(attrs.value, *type.quant, type.dtype) : static_cast<std::int64_t>(attrs.value);
  const Operand filler = lowering.out.number(x.type, value);
  return lowering.out.emit(tosa::Op::kPad, tosa::Nothing{}, {x.id, lowering.out.sizes(sides), filler.id}, x.type,
                           lowering.result_shape());
}

Expected<Operand> cat(NodeLowering& lowering) {
  return lowering.out.concat(lowering.inputs, lowering.place(lowering.attrs<AxisAttrs>().axis));
}

// TOSA gathers rows of a batch of matrices: [N, K, C] by [N, W] is [N, W, C].
std::optional<Reason> refuse_index_select(const NodeForm& form) {
  if (!form.is_constant(1) && form.graph.type(form.node.inputs[1]).dtype == DType::kI32) return std::nullopt;
  return Reason{ReasonCode::kQuantizedType, "the index is not a computed i32"};
}
Expected<Operand> index_select(NodeLowering& lowering) {
  const Operand& x = lowering.inputs[0];
  const Operand& index = lowering.inputs[1];
  const auto axis = static_cast<std::ptrdiff_t>(lowering.attrs<AxisAttrs>().axis);
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  const std::int64_t before = product(x.shape.begin(), x.shape.begin() + axis);
  const std::int64_t after = product(x.shape.begin() + axis + 1, x.shape.end());
  const std::int64_t size = x.shape[static_cast<std::size_t>(axis)];
  const std::int64_t count = product(index.shape.begin(), index.shape.end());
  Operand rows = lowering.out.reshape(index, {1, count});
  if (before > 1) {
    rows = lowering.out.emit(tosa::Op::kTile, tosa::Nothing{}, {rows.id, lowering.out.sizes({before, 1})}, rows.type,
                             {before, count});
  }
  const Operand values = lowering.out.reshape(x, {before, size, after});
  const Operand found =
      lowering.out.emit(tosa::Op::kGather, tosa::Nothing{}, {values.id, rows.id}, x.type, {before, count, after});
  return lowering.out.reshape(found, lowering.result_shape());
}

constexpr FormRow kMovementForms[] = {
    {.op = Op::kReshape, .core = tosa::Op::kReshape, .order = reshape_order, .lower = reshape},
    {.op = Op::kPermute, .core = tosa::Op::kTranspose, .order = permute_order, .lower = permute},
    {.op = Op::kExpand, .core = tosa::Op::kTile, .order = same_order, .refusal = refuse_expand, .lower = expand},
    {.op = Op::kSlice, .core = tosa::Op::kSlice, .order = same_order, .refusal = refuse_slice, .lower = slice},
    {.op = Op::kFlip, .core = tosa::Op::kReverse, .order = same_order, .lower = flip},
    {.op = Op::kPad, .core = tosa::Op::kPad, .order = same_order, .refusal = refuse_pad, .lower = pad},
    {.op = Op::kCat, .core = tosa::Op::kConcat, .order = same_order, .lower = cat},
    {.op = Op::kIndexSelect,
     .core = tosa::Op::kGather,
     .order = indexed_order,
     .refusal = refuse_index_select,
     .lower = index_select},
};

}  // namespace

std::span<const FormRow> movement_forms() { return kMovementForms; }

}  // namespace isthmus::ethos_u
