// Layers by depth and cost.
#include "quantize/plan/front.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "ops/table.h"
#include "quantize/plan/elements.h"
#include "quantize/plan/structure.h"

namespace isthmus {
namespace {

// What a layer costs; any other node costs nothing.
struct Cost {
  double products = 0;
  double weights = 0;
};
Cost cost_of(const Graph& graph, const Node& node) {
  if (node.op == Op::kForeign || !has_weights(node.op)) return {};
  const TensorType& type = graph.type(node.inputs[1]);
  const auto weights = static_cast<double>(elements_of(graph, node.inputs[1]));
  const bool has_channels = type.rank() > 0 && type.shape[0].is_fixed() && type.shape[0].value() > 0;
  const double channels = has_channels ? static_cast<double>(type.shape[0].value()) : 1;
  // Of shorter sums, a good part of the time goes to what happens to each sum, where quantized values gain nothing.
  constexpr double kLongSum = 64;
  const double length = weights / channels;
  return {static_cast<double>(elements_of(graph, node.outputs[0])) * length * std::min(1.0, length / kLongSum),
          weights};
}

}  // namespace

bool has_weights(Op op) {
  const auto& roles = def(op).roles;
  return std::ranges::find(roles, Role::kWeight) != roles.end();
}

double products_of(const Graph& graph, const Node& node) {
  const auto made = static_cast<double>(elements_of(graph, node.outputs[0]));
  const auto inner = [&](ValueId id, std::size_t axis) {
    const Shape& shape = graph.type(id).shape;
    return axis < shape.size() && shape[axis].is_fixed() ? static_cast<double>(shape[axis].value()) : 1.0;
  };
  if (has_weights(node.op)) {
    return made * static_cast<double>(elements_of(graph, node.inputs[1])) / std::max(inner(node.inputs[1], 0), 1.0);
  }
  if (def(node.op).noise != NoiseFlow::kSumsProducts) return 0;
  return made * inner(node.inputs[0], graph.type(node.inputs[0]).shape.size() - 1);
}

std::vector<bool> front_layers(const Graph& graph, double share) {
  constexpr double kMaxWeights = 0.01;  // of all
  const std::size_t count = graph.nodes().size();
  std::vector<Cost> costs(count);
  std::vector<std::size_t> depth(graph.values().size(), 0);  // layers up to the value
  std::vector<std::size_t> order;
  Cost left;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& node = graph.nodes()[i];
    costs[i] = cost_of(graph, node);
    left = {left.products + share * costs[i].products, left.weights + kMaxWeights * costs[i].weights};
    std::size_t before = 0;
    for (const ValueId input : node.inputs) before = std::max(before, depth[input.index]);
    for (const ValueId output : node.outputs) depth[output.index] = before + (costs[i].products > 0 ? 1 : 0);
    if (!node.outputs.empty()) order.push_back(i);
  }
  std::vector<bool> result(count, false);
  if (!(share > 0)) return result;
  const std::vector<std::uint64_t> structure = structure_of(graph);
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const ValueId id = graph.nodes()[i].outputs[0];
    // What a layer makes is read by other nodes of its depth, those by nodes behind them.
    const bool is_layer = costs[i].products > 0;
    return std::tuple(depth[id.index], !is_layer, costs[i].products, is_layer ? 0 : i, structure[id.index],
                      std::string_view(graph[id].name));
  });
  std::vector<bool> is_behind(graph.values().size(), false);  // depends on a layer that is not in front
  for (const std::size_t i : order) {
    const Node& node = graph.nodes()[i];
    bool behind = false;
    for (const ValueId input : node.inputs) behind = behind || is_behind[input.index];
    if (costs[i].products > 0 && !behind) {
      result[i] = costs[i].products <= left.products && costs[i].weights <= left.weights;
      behind = !result[i];
      if (result[i]) left = {left.products - costs[i].products, left.weights - costs[i].weights};
    }
    for (const ValueId output : node.outputs) is_behind[output.index] = behind;
  }
  return result;
}

}  // namespace isthmus
