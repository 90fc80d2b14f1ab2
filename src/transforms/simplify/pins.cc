// What an archive that PyTorch has quantized says about its values: pairs of quantize and dequantize become one node
// that stands as near as it can to the producer of the value.
#include <cmath>

#include "ops/known.h"
#include "ops/table.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus {
namespace {

struct Parameters {
  double scale;
  std::int64_t zero_point;
  bool operator==(const Parameters&) const = default;
};
// Those of a whole tensor, where they are known before the model runs.
std::optional<Parameters> parameters_of(const Graph& graph, std::span<const ValueId> inputs) {
  if (inputs.size() != 3) return std::nullopt;
  const Constant* scale = graph.constant(inputs[1]);
  const auto scales = scale == nullptr || !scale->data ? std::nullopt : numbers_of(&*scale->data);
  const auto zero_points = known_integers(graph, inputs[2]);
  if (!scales || scales->size() != 1 || !zero_points || zero_points->size() != 1) return std::nullopt;
  if (!(scales->front() > 0) || !std::isfinite(scales->front())) return std::nullopt;
  return Parameters{scales->front(), zero_points->front()};
}

// Before all that gives it another shape.
ValueId unshaped(const Graph& graph, ValueId id) {
  for (const Node* node = graph.producer(id); node != nullptr && node->op == Op::kReshape; node = graph.producer(id)) {
    id = node->inputs[0];
  }
  return id;
}

// Numbers that are rounded to quantized values whose parameters the model chooses by these numbers as it runs.
struct DynamicPair {
  ValueId numbers;
  DynamicAttrs attrs;
};
std::optional<DynamicPair> dynamic_pair(const Graph& graph, const Node& there, std::span<const ValueId> back,
                                        std::int64_t back_axis) {
  if (there.inputs.size() != 3 || back.size() != 3) return std::nullopt;
  const ValueId scale = unshaped(graph, there.inputs[1]);
  const ValueId zero_point = unshaped(graph, there.inputs[2]);
  if (unshaped(graph, back[1]) != scale || unshaped(graph, back[2]) != zero_point) return std::nullopt;
  const Node* of_scale = graph.producer(scale);
  const Node* of_zero_point = graph.producer(zero_point);
  if (of_scale == nullptr || of_zero_point == nullptr || of_scale->op != Op::kChooseScale ||
      of_zero_point->op != Op::kChooseZeroPoint || of_scale->attrs != of_zero_point->attrs ||
      of_scale->inputs != of_zero_point->inputs) {
    return std::nullopt;
  }
  const DynamicPair pair{of_scale->inputs[0], std::get<DynamicAttrs>(of_scale->attrs)};
  if (unshaped(graph, there.inputs[0]) != unshaped(graph, pair.numbers)) return std::nullopt;
  // One scale for the tensor, or one for each row of the same length.
  const auto& quantized = std::get<QuantizeAttrs>(there.attrs);
  const bool has_one = graph.type(scale).rank() == 1 && graph.type(scale).shape[0].is(1) && quantized.axis < 0;
  const bool has_rows = quantized.axis == 0 && graph.type(there.inputs[0]).rank() == 2 &&
                        graph.type(there.inputs[0]).shape.back() == graph.type(pair.numbers).shape.back();
  const bool is_quantized =
      quantized.min <= pair.attrs.min && quantized.max >= pair.attrs.max && quantized.dtype == pair.attrs.dtype;
  if (quantized.axis != back_axis || (!has_one && !has_rows) || !is_quantized) return std::nullopt;
  return pair;
}

// A part of a computed value, which QOperator models take of quantized values.
bool is_part(const Graph& graph, const Node* node) {
  return node != nullptr && std::holds_alternative<SliceAttrs>(node->attrs) &&
         graph.constant(node->inputs[0]) == nullptr;
}
bool is_movement(const Node* node) { return node != nullptr && (node->op == Op::kReshape || node->op == Op::kPermute); }

}  // namespace

Replacement pair_conversions(const Site& site) {
  const auto* back = std::get_if<DequantizeAttrs>(&site.node.attrs);
  if (back == nullptr || back->dtype != DType::kF32) return unchanged();
  const Node* before = site.producer(0);
  const auto* there = before == nullptr ? nullptr : std::get_if<QuantizeAttrs>(&before->attrs);
  if (there == nullptr) return unchanged();
  const ValueId source = before->inputs[0];
  if (site.graph().type(source).dtype != DType::kF32) return unchanged();
  if (const auto pair = dynamic_pair(site.graph(), *before, site.inputs, back->axis)) {
    const ValueId rounded = TRY(site.emitter.emit(Op::kDynamicQuantize, pair->attrs, {pair->numbers}));
    return replaced_by(site.emitter.reshape(rounded, site.result().shape));
  }
  if (there->axis >= 0 || back->axis >= 0) return unchanged();
  const auto given = parameters_of(site.graph(), before->inputs);
  if (!given || given != parameters_of(site.graph(), site.inputs)) return unchanged();
  const FakeQuantizeAttrs attrs{given->scale, static_cast<std::int64_t>(given->zero_point), there->min, there->max,
                                there->dtype};
  return replaced_by(site.emitter.emit(Op::kFakeQuantize, attrs, {source}));
}

Replacement raise_dequantize(const Site& site) {
  const auto* back = std::get_if<DequantizeAttrs>(&site.node.attrs);
  if (back == nullptr || !(is_movement(site.producer(0)) || is_part(site.graph(), site.producer(0)))) {
    return unchanged();
  }
  const Node movement = *site.producer(0);  // a copy: emitting moves the nodes
  DequantizeAttrs attrs = *back;
  if (attrs.axis >= 0) {
    const auto* permuted = std::get_if<AxesAttrs>(&movement.attrs);
    if (permuted == nullptr) return unchanged();
    attrs.axis = permuted->axes[static_cast<std::size_t>(attrs.axis)];
  }
  std::vector<ValueId> inputs(site.inputs.begin(), site.inputs.end());
  inputs[0] = movement.inputs[0];
  const ValueId numbers = TRY(site.emitter.emit(site.node.op, attrs, std::move(inputs)));
  return replaced_by(site.emitter.emit(movement.op, movement.attrs, {numbers}));
}

Replacement raise_pins(const Site& site) {
  if (def(site.node.op).flow != QFlow::kPins) return unchanged();
  const Node* before = site.producer(0);
  if (before == nullptr) return unchanged();
  // Twice is once.
  if (before->op == site.node.op && before->attrs == site.node.attrs) return std::optional(site.inputs[0]);
  if (!is_movement(before) || !site.is_only_reader(0)) return unchanged();
  const Node movement = *before;  // a copy: emitting moves the nodes
  const ValueId pinned = TRY(site.emitter.emit(site.node.op, site.node.attrs, {movement.inputs[0]}));
  return replaced_by(site.emitter.emit(movement.op, movement.attrs, {pinned}));
}

}  // namespace isthmus
