// Levels of nodes, and the segments that they make.
#include "targets/partition.h"

#include <algorithm>
#include <set>

namespace isthmus {
namespace {

// For a node of the device, the number of its segment; for one of the host, the number of segments before it.
std::vector<std::size_t> levels_of(const Graph& graph, const std::vector<std::optional<Reason>>& reasons) {
  std::vector<std::size_t> levels(graph.nodes().size(), 0);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (const ValueId input : graph.nodes()[i].inputs) {
      const Value& value = graph[input];
      if (value.kind != ValueKind::kResult) continue;
      const bool is_from_device = !reasons[value.index].has_value();
      const bool is_on_device = !reasons[i].has_value();
      // A host node counts the segments that it waits for; a device node may join the last of its makers' segments.
      const std::size_t min = levels[value.index] + (is_from_device && !is_on_device ? 1 : 0);
      levels[i] = std::max(levels[i], min);
    }
  }
  return levels;
}

void find_io(const Graph& graph, Segment& segment) {
  std::set<ValueId> made;
  std::set<ValueId> inputs;
  std::set<NodeId> own(segment.nodes.begin(), segment.nodes.end());
  for (const NodeId id : segment.nodes) {
    for (const ValueId output : graph[id].outputs) made.insert(output);
  }
  const auto add_input = [&](ValueId id) {
    if (made.contains(id) || graph.constant(id) != nullptr || !inputs.insert(id).second) return;
    segment.inputs.push_back(id);
  };
  for (const NodeId id : segment.nodes) {
    for (const ValueId input : graph[id].inputs) add_input(input);
  }
  std::set<ValueId> outputs;
  const auto add_output = [&](ValueId id) {
    if (made.contains(id) && outputs.insert(id).second) segment.outputs.push_back(id);
  };
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (own.contains(NodeId{i})) continue;
    for (const ValueId input : graph.nodes()[i].inputs) add_output(input);
  }
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) add_output(*id);
  }
}

}  // namespace

Partitioning partition(const Graph& graph, const TargetDesc& target) {
  std::vector<std::optional<Reason>> reasons;
  for (const Node& node : graph.nodes()) reasons.push_back(target.refusal(graph, node));
  return partition(graph, reasons);
}

Partitioning partition(const Graph& graph, const std::vector<std::optional<Reason>>& reasons) {
  const std::vector<std::size_t> levels = levels_of(graph, reasons);
  const std::size_t count = levels.empty() ? 0 : *std::ranges::max_element(levels) + 1;
  std::vector<std::vector<NodeId>> host_nodes(count);
  std::vector<std::vector<NodeId>> device_nodes(count);
  for (std::uint32_t i = 0; i < levels.size(); ++i) {
    (reasons[i] ? host_nodes : device_nodes)[levels[i]].push_back(NodeId{i});
  }
  Partitioning result;
  result.place.resize(levels.size());
  for (std::size_t level = 0; level < count; ++level) {
    for (const NodeId id : host_nodes[level]) {
      result.place[id.index] = *reasons[id.index];
      result.schedule.emplace_back(id);
    }
    if (device_nodes[level].empty()) continue;
    for (const NodeId id : device_nodes[level]) result.place[id.index] = result.segments.size();
    result.schedule.emplace_back(result.segments.size());
    result.segments.push_back({std::move(device_nodes[level]), {}, {}});
    find_io(graph, result.segments.back());
  }
  return result;
}

}  // namespace isthmus
