// Which values are alive while each node runs.
#include <algorithm>
#include <variant>

#include "base/packing.h"
#include "report/page/parts.h"

namespace isthmus::page {
namespace {

// The nodes in the order in which they run.
std::vector<std::uint32_t> run_order(const Partitioning& places) {
  std::vector<std::uint32_t> order;
  for (const auto& entry : places.schedule) {
    if (const auto* node = std::get_if<NodeId>(&entry)) {
      order.push_back(node->index);
    } else {
      for (const NodeId node_of_segment : places.segments[std::get<std::size_t>(entry)].nodes) {
        order.push_back(node_of_segment.index);
      }
    }
  }
  return order;
}

}  // namespace

Json memory_part(const Outcome& outcome) {
  constexpr std::size_t kMaxTensors = 20;
  const Graph& graph = outcome.graph;
  const std::vector<std::uint32_t> order = run_order(outcome.places);
  if (order.empty()) return nullptr;
  std::vector<Block> blocks(graph.values().size());
  const auto touch = [&](ValueId id, std::size_t step) {
    if (graph[id].kind != ValueKind::kConstant) blocks[id.index].touch(step);
  };
  for (const ValueId id : graph.inputs()) touch(id, 0);
  for (const GraphState& state : graph.states()) {
    touch(state.value, 0);
    touch(state.value, order.size() - 1);
  }
  for (std::size_t step = 0; step < order.size(); ++step) {
    const Node& node = graph.nodes()[order[step]];
    for (const ValueId id : node.inputs) touch(id, step);
    for (const ValueId id : node.outputs) touch(id, step);
  }
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) touch(*id, order.size() - 1);
  }
  std::vector<std::int64_t> change(order.size() + 1);
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].first > blocks[i].last) continue;  // it is never there
    const auto bytes = bytes_of(graph, ValueId{i});
    if (!bytes) return nullptr;  // a size without a bound
    blocks[i].size = *bytes;
    change[blocks[i].first] += static_cast<std::int64_t>(*bytes);
    change[blocks[i].last + 1] -= static_cast<std::int64_t>(*bytes);
  }
  Json live = Json::array();
  std::int64_t now = 0, max = -1;
  std::size_t peak = 0;
  for (std::size_t step = 0; step < order.size(); ++step) {
    now += change[step];
    live.push_back(now);
    if (now > max) {
      max = now;
      peak = step;
    }
  }
  std::vector<std::uint32_t> alive;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].first <= peak && peak <= blocks[i].last) alive.push_back(i);
  }
  std::ranges::stable_sort(alive, std::greater<>(), [&](std::uint32_t i) { return blocks[i].size; });
  Json tensors = Json::array();
  for (const std::uint32_t i : alive) {
    if (tensors.size() == kMaxTensors) break;
    const Value& value = graph.values()[i];
    tensors.push_back({{"value", value.name},
                       {"type", type_text(graph, value.type)},
                       {"bytes", blocks[i].size},
                       {"first", blocks[i].first},
                       {"last", blocks[i].last},
                       {"node", value.kind == ValueKind::kResult ? Json(value.index) : Json(nullptr)}});
  }
  return {{"order", order},
          {"live", std::move(live)},
          {"peak", peak},
          {"tensors", std::move(tensors)},
          {"alive", alive.size()}};
}

}  // namespace isthmus::page
