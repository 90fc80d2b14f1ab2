#include "quantize/plan/quantized_values.h"

#include "ops/table.h"

namespace isthmus {

bool is_made_quantized(const Graph& graph, const std::vector<Precision>& precision, const QuantConfig& config,
                       ValueId id) {
  const Value& value = graph[id];
  if (value.type.dtype != DType::kF32 || value.kind == ValueKind::kConstant) return false;
  if (value.kind == ValueKind::kInput) return config.inputs != IoType::kFloat;
  if (value.kind == ValueKind::kState) return false;  // as far as ties go: each reader can have its own parameters
  return precision[value.index] == Precision::kQuantized;
}

std::vector<bool> quantized_values(const Graph& graph, const std::vector<Precision>& precision,
                                   const QuantConfig& config) {
  std::vector<bool> result(graph.values().size(), false);
  const auto can_have = [&](ValueId id) {
    return graph.constant(id) == nullptr && graph.type(id).dtype == DType::kF32;
  };
  for (std::uint32_t i = 0; i < result.size(); ++i) result[i] = is_made_quantized(graph, precision, config, ValueId{i});
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (precision[n] != Precision::kQuantized) continue;
    const Node& node = graph.nodes()[n];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_data_input(node.op, i) && can_have(node.inputs[i])) result[node.inputs[i].index] = true;
    }
  }
  if (config.outputs == IoType::kFloat) return result;
  for (const Output& output : graph.outputs()) {
    const auto* id = std::get_if<ValueId>(&output.value);
    const bool is_result = output.kind == OutputKind::kResult;
    if (id != nullptr && is_result && can_have(*id)) result[id->index] = true;
  }
  return result;
}

}  // namespace isthmus
