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

// In codes as well.
std::optional<Reason> refuse_clamp_of_codes(const Graph& graph, const Node& node) {
  const std::optional<Quant>& quant = graph.type(node.outputs[0]).quant;
  if (!quant) return std::nullopt;
  const auto& attrs = std::get<ClampAttrs>(node.attrs);
  const auto code = [&](double bound) {
    return nearest_code(static_cast<float>(bound), {quant->scale(), quant->zero_point}, -128.0f);
  };
  if (code(attrs.min) < code(attrs.max)) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("bounds {} and {} are one code at scale {} and zero point {}",
                                                 attrs.min, attrs.max, quant->scale(), quant->zero_point)};
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
  return Reason{ReasonCode::kRank, "sides of two ranks"};
}

void softmax(Lowering& lowering, const Node& node) { unary<NodeKind::kSoftmax>(lowering, node); }
OrderDemand softmax_order(const Graph&, const Node& node) {
  return {OrderRule::kInnermost, 1, std::get<AxisAttrs>(node.attrs).axis};
}
std::optional<Reason> refuse_softmax(const Graph& graph, const Node& node) {
  if (graph.type(node.inputs[0]).rank() > 0) return std::nullopt;
  return Reason{ReasonCode::kRank, "of one number"};
}

constexpr FormRow kElementwiseForms[] = {
    {Op::kClamp, same_order, refuse_clamp, clamp, false, CodesForm::kAlike, 0, refuse_clamp_of_codes},
    {Op::kNeg, same_order, nullptr, unary<NodeKind::kNegate>, false, CodesForm::kAlike},
    {Op::kAbs, same_order, nullptr, unary<NodeKind::kAbs>, false, CodesForm::kAlike},
    {Op::kExp, same_order, nullptr, unary<NodeKind::kExp>, false, CodesForm::kAlike},
    {Op::kLog, same_order, nullptr, unary<NodeKind::kLog>, false, CodesForm::kAlike},
    {Op::kSqrt, same_order, nullptr, unary<NodeKind::kSquareRoot>, false, CodesForm::kAlike},
    {Op::kRsqrt, same_order, nullptr, unary<NodeKind::kReciprocalRoot>, false, CodesForm::kAlike},
    {Op::kSin, same_order, nullptr, unary<NodeKind::kSin>, false, CodesForm::kAlike},
    {Op::kCos, same_order, nullptr, unary<NodeKind::kCos>, false, CodesForm::kAlike},
    {Op::kFloor, same_order, nullptr, unary<NodeKind::kFloor>, false, CodesForm::kAlike},
    {Op::kCeil, same_order, nullptr, unary<NodeKind::kCeiling>, false, CodesForm::kAlike},
    {Op::kSigmoid, same_order, nullptr, unary<NodeKind::kSigmoid>, false, CodesForm::kAlike},
    {Op::kTanh, same_order, nullptr, unary<NodeKind::kTanh>, false, CodesForm::kAlike},
    {Op::kHardswish, same_order, nullptr, unary<NodeKind::kHardswish>, false, CodesForm::kAlike},
    {Op::kGelu, same_order, refuse_gelu, unary<NodeKind::kGelu>, false, CodesForm::kAlike},
    {Op::kLeakyRelu, same_order, refuse_leaky_relu, leaky_relu, false, CodesForm::kAlike},
    {Op::kElu, same_order, refuse_elu, elu, false, CodesForm::kAlike},
    {Op::kAdd, same_order, refuse_binary, binary<NodeKind::kAdd>, true, CodesForm::kAlike},
    {Op::kSub, same_order, refuse_binary, binary<NodeKind::kSubtract>, true, CodesForm::kAlike},
    {Op::kMul, same_order, refuse_binary, binary<NodeKind::kMultiply>, true, CodesForm::kAlike},
    {Op::kDiv, same_order, refuse_binary, binary<NodeKind::kDivide>, true},
    {Op::kMinimum, same_order, refuse_binary, binary<NodeKind::kMinimum>},
    {Op::kMaximum, same_order, refuse_binary, binary<NodeKind::kMaximum>},
    {Op::kSoftmax, softmax_order, refuse_softmax, softmax},
};

}  // namespace

OrderDemand same_order(const Graph&, const Node& node) { return {OrderRule::kSame, node.inputs.size()}; }
OrderDemand image_order(const Graph&, const Node&) { return {OrderRule::kFixed, 1, 0, kChannelsLast}; }

std::span<const FormRow> elementwise_forms() { return kElementwiseForms; }

}  // namespace isthmus::xnnpack
