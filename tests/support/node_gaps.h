// XNNPACK against the integer interpreter, node by node, each from the values that XNNPACK itself gave it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "interpret/interpreter.h"
#include "interpret/tensor.h"
#include "ir/graph.h"
#include "targets/layout.h"

namespace isthmus::test {

using Values = std::map<ValueId, Tensor>;

struct Gap {
  double max = 0;  // quantized values: steps; floats: of what rounding may cost
  std::size_t nodes = 0;
  std::string worst;  // the value where it is
};
using Gaps = std::map<std::string, Gap>;  // by kind of node: "quantized", "rows" or "float", and its op

// Quantized values are the same to the last bit.
double allowed_gap(const std::string& kind);

// Every value that the delegate of this segment shows.
Expected<Values> tapped_values(const Graph& graph, const Segment& segment, std::span<const Tensor> inputs);

// Adds what these nodes' values are apart from what the interpreter makes of their inputs' values. The value before a
// clamp that the delegate fuses is not shown: it is computed on the way to the clamp.
Expected<void> compare_nodes(const Graph& graph, std::span<const NodeId> nodes, const SymbolValues& symbols,
                             Values& values, Gaps& gaps);

}  // namespace isthmus::test
