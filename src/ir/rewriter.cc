// Copying with replacements, and dead code.
#include "ir/rewriter.h"

namespace isthmus {

Rewriter::Rewriter(const Graph& source) : source_(source), map_(source.values().size()) {
  graph_.exprs() = source.exprs();
  for (const ValueId input : source.inputs()) {
    map_[input.index] = graph_.add_input(source[input].name, source[input].type);
  }
  for (std::uint32_t i = 0; i < source.values().size(); ++i) {
    const Value& value = source.values()[i];
    if (value.kind != ValueKind::kConstant) continue;
    map_[i] = graph_.add_constant(value.name, value.type, source.constants()[value.index]);
  }
}

ValueId Rewriter::map(ValueId old) const {
  const auto& found = map_[old.index];
  CHECK(found.has_value(), "%" + source_[old].name + " was neither copied nor replaced");
  return *found;
}

std::vector<ValueId> Rewriter::map(const std::vector<ValueId>& old) const {
  std::vector<ValueId> result;
  result.reserve(old.size());
  for (const ValueId id : old) result.push_back(map(id));
  return result;
}

void Rewriter::copy(const Node& node) {
  std::vector<Result> results;
  results.reserve(node.outputs.size());
  for (const ValueId output : node.outputs) {
    results.push_back({graph_.unused_name(source_[output].name), source_[output].type});
  }
  const NodeId id = graph_.add_node(node.op, node.attrs, map(node.inputs), std::move(results), node.origin);
  if (node.in_float) graph_.keep_in_float(id);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) map_[node.outputs[i].index] = graph_[id].outputs[i];
}

Graph Rewriter::finish() && {
  for (const Output& output : source_.outputs()) {
    Output mapped = output;
    if (const auto* id = std::get_if<ValueId>(&output.value)) mapped.value = map(*id);
    graph_.add_output(std::move(mapped));
  }
  return std::move(graph_);
}

Graph without_dead_code(const Graph& graph) {
  std::vector<bool> is_needed(graph.values().size(), false);
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) is_needed[id->index] = true;
  }
  std::vector<bool> is_kept(graph.nodes().size(), false);
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    for (const ValueId output : node.outputs) is_kept[n] = is_kept[n] || is_needed[output.index];
    if (!is_kept[n]) continue;
    for (const ValueId input : node.inputs) is_needed[input.index] = true;
  }
  Graph result;
  result.exprs() = graph.exprs();
  std::vector<ValueId> map(graph.values().size());
  for (const ValueId input : graph.inputs()) map[input.index] = result.add_input(graph[input].name, graph[input].type);
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.kind != ValueKind::kConstant || !is_needed[i]) continue;
    map[i] = result.add_constant(value.name, value.type, graph.constants()[value.index]);
  }
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (!is_kept[n]) continue;
    const Node& node = graph.nodes()[n];
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(map[input.index]);
    std::vector<Result> results;
    for (const ValueId output : node.outputs) results.push_back({graph[output].name, graph[output].type});
    const NodeId id = result.add_node(node.op, node.attrs, std::move(inputs), std::move(results), node.origin);
    if (node.in_float) result.keep_in_float(id);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) map[node.outputs[i].index] = result[id].outputs[i];
  }
  for (const Output& output : graph.outputs()) {
    Output mapped = output;
    if (const auto* id = std::get_if<ValueId>(&output.value)) mapped.value = map[id->index];
    result.add_output(std::move(mapped));
  }
  return result;
}

}  // namespace isthmus
