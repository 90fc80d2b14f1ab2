// Forms of what moves and joins numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "targets/xnnpack/forms/form_families.h"
#include "targets/xnnpack/lowering.h"

namespace isthmus::xnnpack {
namespace {

using xnn::NodeKind;

constexpr std::array kConcats{NodeKind::kConcat2, NodeKind::kConcat3, NodeKind::kConcat4, NodeKind::kConcat5};

OrderDemand reshape_order(const Graph&, const Node&) { return {OrderRule::kReshape}; }
OrderDemand permute_order(const Graph&, const Node&) { return {OrderRule::kPermute}; }

void permute(Lowering& lowering, const Node&) { lowering.forward(lowering.input(0)); }

void reshape(Lowering& lowering, const Node& node) {
  const std::uint32_t input = lowering.input(0);
  const ValueId from = node.inputs[0];
  const ValueId to = node.outputs[0];
  if (lowering.dims_or(from, lowering.read_order(0), 0) == lowering.dims_or(to, lowering.result_order(), 0)) {
    lowering.forward(input);
    return;
  }
  xnn::ReshapeFields fields{lowering.dims_or(to, lowering.result_order(), 0)};
  lowering.append({NodeKind::kReshape, {input}, {lowering.result()}, std::move(fields), 0, {}, 0});
}
std::optional<Reason> refuse_reshape(const Graph& graph, const Node& node) {
  const Shape& shape = graph.type(node.outputs[0]).shape;
  if (std::ranges::count_if(shape, [](Dim dim) { return !dim.is_fixed(); }) <= 1) return std::nullopt;
  return Reason{ReasonCode::kDynamicShape, "a reshape to " + shape_text(graph, shape)};
}

void slice(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<SliceAttrs>(node.attrs);
  const std::uint32_t input = lowering.input(0);
  const Order& order = lowering.read_order(0);
  xnn::SliceFields fields{std::vector<std::uint32_t>(order.size(), 0), lowering.dims_or(node.outputs[0], order, 0)};
  fields.offsets[Lowering::place(order, attrs.axis)] = static_cast<std::uint32_t>(attrs.start.value());
  lowering.append({NodeKind::kSlice, {input}, {lowering.result()}, std::move(fields), 0, {}, 0});
}
std::optional<Reason> refuse_slice(const Graph& graph, const Node& node) {
  const auto& attrs = std::get<SliceAttrs>(node.attrs);
  if (!attrs.start.is_fixed() || !graph.type(node.outputs[0]).shape[static_cast<std::size_t>(attrs.axis)].is_fixed()) {
    return Reason{ReasonCode::kDynamicShape, fmt::format("a dynamic slice of axis {}", attrs.axis)};
  }
  if (attrs.step != 1) return Reason{ReasonCode::kNoForm, fmt::format("a step of {}", attrs.step)};
  return std::nullopt;
}

// Quantized values saturate; the delegate pads them with finite numbers alone.
float nearest_number(float value, const Quant& quant) {
  const auto number_of = [&](std::int32_t q) { return static_cast<float>(q - quant.zero_point) * quant.scale(); };
  return std::clamp(value, number_of(-128), number_of(127));
}

void pad(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<PadAttrs>(node.attrs);
  const std::uint32_t input = lowering.input(0);
  xnn::PadFields fields;
  for (const std::uint8_t axis : lowering.read_order(0)) {
    fields.before.push_back(static_cast<std::uint32_t>(attrs.before[axis]));
    fields.after.push_back(static_cast<std::uint32_t>(attrs.after[axis]));
  }
  fields.value = static_cast<float>(attrs.value);
  if (const std::optional<Quant>& quant = lowering.graph().type(node.outputs[0]).quant) {
    fields.value = nearest_number(fields.value, *quant);
  }
  lowering.append({NodeKind::kPad, {input}, {lowering.result()}, std::move(fields), 0, {}, 0});
}
std::optional<Reason> refuse_pad(const Graph&, const Node& node) {
  const auto& attrs = std::get<PadAttrs>(node.attrs);
  if (attrs.mode != PadMode::kConstant) return Reason{ReasonCode::kNoForm, "padding with values of the input"};
  if (std::isnan(attrs.value)) return Reason{ReasonCode::kNoForm, "padding with NaN"};
  return std::nullopt;
}

void cat(Lowering& lowering, const Node& node) {
  std::vector<std::uint32_t> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(lowering.input(i));
  const xnn::ConcatFields fields{Lowering::place(lowering.result_order(), std::get<AxisAttrs>(node.attrs).axis)};
  lowering.append({kConcats[inputs.size() - 2], std::move(inputs), {lowering.result()}, fields, 0, {}, 0});
}
std::optional<Reason> refuse_cat(const Graph&, const Node& node) {
  if (node.inputs.size() >= 2 && node.inputs.size() <= kConcats.size() + 1) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("{} inputs", node.inputs.size())};
}

constexpr FormRow kMovementForms[] = {
    {.op = Op::kPermute, .order = permute_order, .lower = permute, .quantized = QuantizedForm::kAlike},
    {.op = Op::kReshape,
     .order = reshape_order,
     .refusal = refuse_reshape,
     .lower = reshape,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kSlice,
     .order = same_order,
     .refusal = refuse_slice,
     .lower = slice,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kPad, .order = same_order, .refusal = refuse_pad, .lower = pad, .quantized = QuantizedForm::kAlike},
    {.op = Op::kCat, .order = same_order, .refusal = refuse_cat, .lower = cat, .quantized = QuantizedForm::kAlike},
};

}  // namespace

std::span<const FormRow> movement_forms() { return kMovementForms; }

}  // namespace isthmus::xnnpack
