// Forms of what computes each number from numbers in the same place.
#include <fmt/format.h>

#include <cmath>

#include "engines/xnnpack/checks.h"
#include "targets/xnnpack/forms/form_families.h"
#include "targets/xnnpack/lowering.h"

namespace isthmus::xnnpack {
namespace {

using xnn::NodeKind;

template <NodeKind kKind>
void unary(Lowering& lowering, const Node&) {
  const std::uint32_t input = lowering.input(0);
  lowering.append({kKind, {input}, {lowering.result()}, {}, 0, {}, 0});
}

void clamp(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<ClampAttrs>(node.attrs);
  const std::uint32_t input = lowering.input(0);
  lowering.append({NodeKind::kClamp,
                   {input},
                   {lowering.result()},
                   {},
                   0,
                   xnn::Bounds{static_cast<float>(attrs.min), static_cast<float>(attrs.max)},
                   0});
}
// The delegate wants a lower bound below the upper one.
std::optional<Reason> refuse_clamp(const Graph&, const Node& node) {
  const auto& attrs = std::get<ClampAttrs>(node.attrs);
  if (static_cast<float>(attrs.min) < static_cast<float>(attrs.max)) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("bounds {} and {}", attrs.min, attrs.max)};
}

// Also for quantized values.
std::optional<Reason> refuse_quantized_clamp(const Graph& graph, const Node& node) {
  const std::optional<Quant>& quant = graph.type(node.outputs[0]).quant;
  if (!quant) return std::nullopt;
  const auto& attrs = std::get<ClampAttrs>(node.attrs);
  const auto q = [&](double bound) {
    return nearest_quantized(static_cast<float>(bound), {quant->scale(), quant->zero_point}, -128.0f);
  };
  if (q(attrs.min) < q(attrs.max)) return std::nullopt;
  return Reason{ReasonCode::kNoForm,
                fmt::format("bounds {} and {} quantize to the same value at scale {} and zero point {}", attrs.min,
                            attrs.max, quant->scale(), quant->zero_point)};
}

void leaky_relu(Lowering& lowering, const Node& node) {
  const auto slope = static_cast<float>(std::get<SlopeAttrs>(node.attrs).slope);
  const std::uint32_t input = lowering.input(0);
  lowering.append({NodeKind::kLeakyRelu, {input}, {lowering.result()}, xnn::SlopeFields{slope}, 0, {}, 0});
}
std::optional<Reason> refuse_leaky_relu(const Graph&, const Node& node) {
  const double slope = std::get<SlopeAttrs>(node.attrs).slope;
  if (std::isfinite(static_cast<float>(slope))) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("a slope of {}", slope)};
}

void elu(Lowering& lowering, const Node& node) {
  const auto alpha = static_cast<float>(std::get<EluAttrs>(node.attrs).alpha);
  const std::uint32_t input = lowering.input(0);
  lowering.append({NodeKind::kElu, {input}, {lowering.result()}, xnn::SlopeFields{alpha}, 0, {}, 0});
}
std::optional<Reason> refuse_elu(const Graph&, const Node& node) {
  const auto& attrs = std::get<EluAttrs>(node.attrs);
  if (attrs.scale == 1 && attrs.input_scale == 1 && attrs.alpha > 0) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("alpha {}, scale {}", attrs.alpha, attrs.scale)};
}

std::optional<Reason> refuse_gelu(const Graph&, const Node& node) {
  if (!std::get<GeluAttrs>(node.attrs).tanh) return std::nullopt;
  return Reason{ReasonCode::kNoForm, "the approximation by tanh"};
}

template <NodeKind kKind>
void binary(Lowering& lowering, const Node&) {
  const std::uint32_t a = lowering.input(0);
  const std::uint32_t b = lowering.input(1);
  lowering.append({kKind, {a, b}, {lowering.result()}, {}, 0, {}, 0});
}
// Axes are matched by their place in memory, so both sides have as many.
std::optional<Reason> refuse_binary(const Graph& graph, const Node& node) {
  if (graph.type(node.inputs[0]).rank() == graph.type(node.inputs[1]).rank()) return std::nullopt;
  return Reason{ReasonCode::kRanks, "operands of different ranks"};
}

void softmax(Lowering& lowering, const Node& node) { unary<NodeKind::kSoftmax>(lowering, node); }
OrderDemand softmax_order(const Graph&, const Node& node) {
  return {OrderRule::kInnermost, 1, std::get<AxisAttrs>(node.attrs).axis};
}
std::optional<Reason> refuse_softmax(const Graph& graph, const Node& node) {
  if (graph.type(node.inputs[0]).rank() > 0) return std::nullopt;
  return Reason{ReasonCode::kRanks, "of a scalar"};
}

constexpr FormRow kElementwiseForms[] = {
    {.op = Op::kClamp,
     .order = same_order,
     .refusal = refuse_clamp,
     .lower = clamp,
     .quantized = QuantizedForm::kAlike,
     .quantization_refusal = refuse_quantized_clamp},
    {.op = Op::kNeg, .order = same_order, .lower = unary<NodeKind::kNegate>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kAbs, .order = same_order, .lower = unary<NodeKind::kAbs>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kExp, .order = same_order, .lower = unary<NodeKind::kExp>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kLog, .order = same_order, .lower = unary<NodeKind::kLog>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kSqrt, .order = same_order, .lower = unary<NodeKind::kSquareRoot>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kRsqrt,
     .order = same_order,
     .lower = unary<NodeKind::kReciprocalRoot>,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kSin, .order = same_order, .lower = unary<NodeKind::kSin>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kCos, .order = same_order, .lower = unary<NodeKind::kCos>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kFloor, .order = same_order, .lower = unary<NodeKind::kFloor>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kCeil, .order = same_order, .lower = unary<NodeKind::kCeiling>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kSigmoid, .order = same_order, .lower = unary<NodeKind::kSigmoid>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kTanh, .order = same_order, .lower = unary<NodeKind::kTanh>, .quantized = QuantizedForm::kAlike},
    {.op = Op::kHardswish,
     .order = same_order,
     .lower = unary<NodeKind::kHardswish>,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kGelu,
     .order = same_order,
     .refusal = refuse_gelu,
     .lower = unary<NodeKind::kGelu>,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kLeakyRelu,
     .order = same_order,
     .refusal = refuse_leaky_relu,
     .lower = leaky_relu,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kElu, .order = same_order, .refusal = refuse_elu, .lower = elu, .quantized = QuantizedForm::kAlike},
    {.op = Op::kAdd,
     .order = same_order,
     .refusal = refuse_binary,
     .lower = binary<NodeKind::kAdd>,
     .has_bounds = true,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kSub,
     .order = same_order,
     .refusal = refuse_binary,
     .lower = binary<NodeKind::kSubtract>,
     .has_bounds = true,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kMul,
     .order = same_order,
     .refusal = refuse_binary,
     .lower = binary<NodeKind::kMultiply>,
     .has_bounds = true,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kDiv,
     .order = same_order,
     .refusal = refuse_binary,
     .lower = binary<NodeKind::kDivide>,
     .has_bounds = true},
    {.op = Op::kMinimum, .order = same_order, .refusal = refuse_binary, .lower = binary<NodeKind::kMinimum>},
    {.op = Op::kMaximum, .order = same_order, .refusal = refuse_binary, .lower = binary<NodeKind::kMaximum>},
    {.op = Op::kSoftmax, .order = softmax_order, .refusal = refuse_softmax, .lower = softmax},
};

}  // namespace

OrderDemand same_order(const Graph&, const Node& node) { return {OrderRule::kSame, node.inputs.size()}; }
OrderDemand image_order(const Graph&, const Node&) { return {OrderRule::kFixed, 1, 0, kChannelsLast}; }

std::span<const FormRow> elementwise_forms() { return kElementwiseForms; }

}  // namespace isthmus::xnnpack
