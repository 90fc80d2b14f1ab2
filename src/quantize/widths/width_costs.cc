// Asks the device once for each node and pair of widths.
#include "quantize/widths/width_costs.h"

#include <variant>

#include "ops/table.h"
#include "quantize/plan/elements.h"

namespace isthmus {

WidthCosts::WidthCosts(const Graph& graph, const IntegerRules& rules, const std::vector<Precision>& precision)
    : graph_(graph),
      rules_(rules),
      precision_(precision),
      is_stored_(graph.values().size(), true),
      known_(graph.nodes().size()) {
  std::vector<std::size_t> readers(graph.values().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : node.inputs) ++readers[input.index];
  }
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) ++readers[id->index];
  }
  if (rules.takes_bounds == nullptr) return;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kForeign || node.inputs.empty() || def(node.op).flow != QFlow::kNarrowsRange) continue;
    const Node* maker = graph.producer(node.inputs[0]);
    const bool is_joined = maker != nullptr && readers[node.inputs[0].index] == 1 && rules.takes_bounds(*maker);
    if (is_joined) is_stored_[node.inputs[0].index] = false;
  }
}

const NodeCost& WidthCosts::of(std::uint32_t n, bool reads_wide, bool makes_wide) {
  std::optional<NodeCost>& known = known_[n][(reads_wide ? 2 : 0) + (makes_wide ? 1 : 0)];
  if (known) return *known;
  const Node& node = graph_.nodes()[n];
  const bool is_joined = !node.inputs.empty() && !is_stored_[node.inputs[0].index];
  const bool is_asked =
      precision_[n] == Precision::kQuantized && !node.outputs.empty() && node.op != Op::kForeign && !is_joined;
  const auto width = [](bool is_wide) { return is_wide ? DType::kI16 : DType::kI8; };
  known = is_asked ? rules_.cost(graph_, node, QuantizedTypes(width(reads_wide), width(makes_wide))) : NodeCost{};
  return *known;
}

const NodeCost& WidthCosts::of(std::uint32_t n, const std::vector<bool>& is_wide) {
  const Node& node = graph_.nodes()[n];
  bool reads_wide = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_data =
        node.op != Op::kForeign && is_data_input(node.op, i) && graph_.constant(node.inputs[i]) == nullptr;
    reads_wide = reads_wide || (is_data && is_wide[node.inputs[i].index]);
  }
  return of(n, reads_wide, !node.outputs.empty() && is_wide[node.outputs[0].index]);
}

// The clamp's result is in memory from here on, and counted when it is made.
void WidthCosts::add_value(MemoryNeeded& memory, std::uint32_t value, double bytes) const {
  is_stored_[value] ? memory.add(value, bytes) : memory.add_while_made(value, bytes);
}

WidthCosts::Total WidthCosts::of_all(const std::vector<bool>& is_wide) {
  MemoryNeeded memory(graph_);
  Total total;
  for (std::uint32_t v = 0; v < graph_.values().size(); ++v) {
    if (graph_.values()[v].kind == ValueKind::kConstant) continue;
    add_value(memory, v, static_cast<double>(elements_of(graph_, ValueId{v})) * (is_wide[v] ? 2 : 1));
  }
  for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
    const NodeCost& cost = of(n, is_wide);
    total.cycles += cost.cycles;
    if (!graph_.nodes()[n].outputs.empty())
      memory.add_while_made(graph_.nodes()[n].outputs[0].index, cost.working_bytes);
  }
  total.bytes = memory.max();
  return total;
}

}  // namespace isthmus
