// The first layers of a model.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace isthmus {

// Whether an op has weights, which makes its nodes layers.
bool has_weights(Op op);
// How many products of two numbers the node computes.
double products_of(const Graph& graph, const Node& node);

// By node: whether it is one of the first layers, whose products are no more than this share of all and whose weights
// are next to nothing. A layer is among them only with all layers that stand before it. Those with the fewest layers
// before them come first, then the cheapest: the order of nodes does not matter.
std::vector<bool> front_layers(const Graph& graph, double share);

}  // namespace isthmus
