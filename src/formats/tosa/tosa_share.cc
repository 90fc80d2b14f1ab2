// Constants of the same type, shape and bytes become one.
#include <map>
#include <tuple>

#include "formats/tosa/tosa.h"

namespace isthmus::tosa {
namespace {

bool makes_constant(const Operator& op) { return op.inputs.empty(); }

}  // namespace

Graph with_shared_constants(const Graph& graph) {
  using Content = std::tuple<Type, std::vector<std::int32_t>, std::string_view>;
  std::map<Content, ValueIndex> first_of;
  std::vector<ValueIndex> place(graph.values.size());  // in the result
  std::vector<bool> is_dropped(graph.values.size(), false);
  for (const Operator& op : graph.operators) {
    if (!makes_constant(op)) continue;
    const Value& value = graph.values[op.outputs[0]];
    const auto [found, is_new] = first_of.emplace(Content{value.type, value.shape, value.data.text()}, op.outputs[0]);
    if (is_new) continue;
    is_dropped[op.outputs[0]] = true;
    place[op.outputs[0]] = found->second;  // in the graph, for now
  }
  Graph result;
  result.version = graph.version;
  for (ValueIndex i = 0; i < graph.values.size(); ++i) {
    if (is_dropped[i]) continue;
    place[i] = static_cast<ValueIndex>(result.values.size());
    result.values.push_back(graph.values[i]);
  }
  for (ValueIndex i = 0; i < graph.values.size(); ++i) {
    if (is_dropped[i]) place[i] = place[place[i]];
  }
  const auto moved = [&](const std::vector<ValueIndex>& indices) {
    std::vector<ValueIndex> targets;
    for (const ValueIndex index : indices) targets.push_back(place[index]);
    return targets;
  };
  for (const Operator& op : graph.operators) {
    if (makes_constant(op) && is_dropped[op.outputs[0]]) continue;
    result.operators.push_back({op.op, op.fields, moved(op.inputs), moved(op.outputs), op.location});
  }
  result.inputs = moved(graph.inputs);
  result.outputs = moved(graph.outputs);
  return result;
}

}  // namespace isthmus::tosa
