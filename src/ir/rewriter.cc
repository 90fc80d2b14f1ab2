// Copying with replacements, and dead code.
#include "ir/rewriter.h"

#include <algorithm>

namespace isthmus {

Rewriter::Rewriter(const Graph& source) : source_(source), map_(source.values().size()) {
  graph_.reserve_like(source);
  graph_.exprs() = source.exprs();
  for (const ValueId input : source.inputs()) {
    map_[input.index] = graph_.add_input(source[input].name, source[input].type);
  }
  for (const GraphState& state : source.states()) {
    map_[state.value.index] = graph_.add_state(source[state.value].name, source[state.value].type, state.initial);
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

void Rewriter::keep_names() {
  std::vector<bool> is_read(graph_.values().size(), false);
  for (const Output& output : graph_.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) is_read[id->index] = true;
  }
  for (std::size_t n = graph_.nodes().size(); n-- > 0;) {
    const Node& node = graph_.nodes()[n];
    const auto is_needed = [&](ValueId id) { return is_read[id.index]; };
    if (!std::ranges::any_of(node.outputs, is_needed)) continue;
    for (const ValueId input : node.inputs) is_read[input.index] = true;
  }
  // What nothing reads any more is a part of what its first reader became.
  std::vector<std::optional<ValueId>> home(source_.values().size());
  for (std::size_t v = 0; v < map_.size(); ++v) {
    if (map_[v] && is_read[map_[v]->index]) home[v] = map_[v];
  }
  for (std::size_t n = source_.nodes().size(); n-- > 0;) {
    const Node& node = source_.nodes()[n];
    if (node.outputs.empty() || !home[node.outputs[0].index]) continue;
    for (const ValueId input : node.inputs) {
      if (source_[input].kind == ValueKind::kResult && !home[input.index])
        home[input.index] = home[node.outputs[0].index];
    }
  }
  for (const auto& [name, value] : source_.aliases()) {
    if (home[value.index]) graph_.add_alias(name, *home[value.index]);
  }
  for (std::size_t v = 0; v < home.size(); ++v) {
    const Value& value = source_.values()[v];
    if (value.kind != ValueKind::kResult || !home[v] || graph_[*home[v]].name == value.name) continue;
    graph_.add_alias(value.name, *home[v]);
  }
}

Graph Rewriter::finish() && {
  for (const Output& output : source_.outputs()) {
    Output mapped = output;
    if (const auto* id = std::get_if<ValueId>(&output.value)) mapped.value = map(*id);
    graph_.add_output(std::move(mapped));
  }
  keep_names();
  return std::move(graph_);
}

namespace {

// The state that an output changes, if it does.
std::optional<ValueId> written_state(const Graph& graph, const Output& output) {
  if (output.kind != OutputKind::kMutation) return std::nullopt;
  const auto target = graph.find(output.target);
  return target && graph.state(*target) != nullptr ? target : std::nullopt;
}

struct Needs {
  std::vector<bool> values;
  std::vector<bool> nodes;
};

// What the results depend on, in this run or through the states in a later one.
Needs needs_of(const Graph& graph) {
  Needs needs{std::vector<bool>(graph.values().size(), false), std::vector<bool>(graph.nodes().size(), false)};
  bool has_changed = true;
  while (has_changed) {
    has_changed = false;
    for (const Output& output : graph.outputs()) {
      const auto* id = std::get_if<ValueId>(&output.value);
      const auto state = written_state(graph, output);
      if (id == nullptr || needs.values[id->index] || (state && !needs.values[state->index])) continue;
      needs.values[id->index] = true;
      has_changed = true;
    }
    for (std::size_t n = graph.nodes().size(); n-- > 0;) {
      const Node& node = graph.nodes()[n];
      for (const ValueId output : node.outputs) needs.nodes[n] = needs.nodes[n] || needs.values[output.index];
      if (!needs.nodes[n]) continue;
      for (const ValueId input : node.inputs) needs.values[input.index] = true;
    }
  }
  return needs;
}

}  // namespace

Graph without_dead_code(const Graph& graph) {
  const auto [is_needed, is_kept] = needs_of(graph);
  Graph result;
  result.reserve_like(graph);
  result.exprs() = graph.exprs();
  std::vector<ValueId> map(graph.values().size());
  for (const ValueId input : graph.inputs()) map[input.index] = result.add_input(graph[input].name, graph[input].type);
  for (const GraphState& state : graph.states()) {
    if (!is_needed[state.value.index]) continue;
    map[state.value.index] = result.add_state(graph[state.value].name, graph[state.value].type, state.initial);
  }
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
    if (const auto state = written_state(graph, output); state && !is_needed[state->index]) continue;
    Output mapped = output;
    if (const auto* id = std::get_if<ValueId>(&output.value)) mapped.value = map[id->index];
    result.add_output(std::move(mapped));
  }
  for (const auto& [name, value] : graph.aliases()) {
    if (is_needed[value.index]) result.add_alias(name, map[value.index]);
  }
  return result;
}

}  // namespace isthmus
