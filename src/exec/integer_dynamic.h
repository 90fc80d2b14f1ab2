// Linear layers of floats whose weights are codes.
#pragma once

#include "exec/kernel.h"
#include "ir/graph.h"

namespace isthmus {

// Whether the node is one.
bool quantizes_rows(const Graph& graph, const Node& node);

// To about 1e-5 of the result's range what XNNPACK computes: rounding of a row's codes is exact, of the scales not.
Expected<Tensor> linear_of_rows(const Graph& graph, const Node& node, const KernelContext& context);

}  // namespace isthmus
