// Quantized values and nodes.
#pragma once

#include <algorithm>
#include <cmath>

#include "ir/graph.h"

namespace isthmus {

// Whether the node computes on quantized values: one of its values is quantized.
inline bool is_quantized(const Graph& graph, const Node& node) {
  const auto has_quant = [&](ValueId id) { return graph.type(id).quant.has_value(); };
  return std::ranges::any_of(node.inputs, has_quant) || std::ranges::any_of(node.outputs, has_quant);
}

// The integer nearest to a number, half to even. It may lie outside of every integer type, and be NaN.
inline double nearest_quantized(double number, const Quant& quant) {
  return std::nearbyint(number / static_cast<double>(quant.scale())) + quant.zero_point;
}

}  // namespace isthmus
