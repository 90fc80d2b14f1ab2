// Looks at the zero points of quantized values in front of layers.
#include "transforms/canonicalize/archive_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/literals.h"
#include "ops/known.h"
#include "ops/table.h"

namespace isthmus {
namespace {

// The quantized values behind a weight, over whatever moves them; null where it is not made of constant quantized
// values.
const Node* conversion_behind(const Graph& graph, ValueId id) {
  for (const Node* node = graph.producer(id); node != nullptr && node->op != Op::kForeign; node = graph.producer(id)) {
    if (std::holds_alternative<DequantizeAttrs>(node->attrs)) return node->inputs.size() == 3 ? node : nullptr;
    if (def(node->op).flow != QFlow::kMovesData) return nullptr;
    id = node->inputs[0];
  }
  return nullptr;
}

}  // namespace

void warn_of_weights(const Graph& graph, Diagnostics& diagnostics) {
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kForeign) continue;
    const auto& roles = def(node.op).roles;
    for (std::size_t i = 0; i < std::min(node.inputs.size(), roles.size()); ++i) {
      if (roles[i] != Role::kWeight) continue;
      const Node* conversion = conversion_behind(graph, node.inputs[i]);
      const auto zero_points = conversion == nullptr ? std::nullopt : known_integers(graph, conversion->inputs[2]);
      if (!zero_points || std::ranges::all_of(*zero_points, [](std::int64_t point) { return point == 0; })) continue;
      diagnostics.warn("weight-zero-point", graph[node.outputs[0]].name,
                       fmt::format("the weights of {} have a zero point in the archive; targets need symmetric "
                                   "weights, so they are quantized again; quantize weights symmetrically in PyTorch",
                                   node_text(graph, node)));
    }
  }
}

}  // namespace isthmus
