// What an archive that PyTorch has quantized says about its values: pairs of quantize and dequantize become one node
// that stands as near as it can to whoever makes the value.
#include <cmath>

#include "ops/known.h"
#include "ops/table.h"
#include "simplify/rewrites.h"
#include "simplify/weights.h"

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

bool is_movement(const Node* node) { return node != nullptr && (node->op == Op::kReshape || node->op == Op::kPermute); }

}  // namespace

Replacement pair_conversions(const Site& site) {
  const auto* back = std::get_if<DequantizeAttrs>(&site.node.attrs);
  if (back == nullptr || back->axis >= 0 || back->dtype != DType::kF32) return unchanged();
  const Node* before = site.producer(0);
  const auto* there = before == nullptr ? nullptr : std::get_if<QuantizeAttrs>(&before->attrs);
  if (there == nullptr || there->axis >= 0) return unchanged();
  const ValueId source = before->inputs[0];
  const auto given = parameters_of(site.graph(), before->inputs);
  if (!given || given != parameters_of(site.graph(), site.inputs)) return unchanged();
  if (site.graph().type(source).dtype != DType::kF32) return unchanged();
  const FakeQuantizeAttrs attrs{given->scale, static_cast<std::int64_t>(given->zero_point), there->min, there->max,
                                there->dtype};
  return replaced_by(site.emitter.emit(Op::kFakeQuantize, attrs, {source}));
}

Replacement raise_dequantize(const Site& site) {
  const auto* back = std::get_if<DequantizeAttrs>(&site.node.attrs);
  if (back == nullptr || back->axis >= 0 || !is_movement(site.producer(0))) return unchanged();
  const Node movement = *site.producer(0);  // a copy: emitting moves the nodes
  std::vector<ValueId> inputs(site.inputs.begin(), site.inputs.end());
  inputs[0] = movement.inputs[0];
  const ValueId numbers = TRY(site.emitter.emit(site.node.op, site.node.attrs, std::move(inputs)));
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
