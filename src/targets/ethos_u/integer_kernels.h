// What a device computes on quantized values: the forms of a node, run by TOSA's interpreter.
#pragma once

#include "formats/tosa/tosa.h"
#include "interpret/integer_kernel.h"
#include "targets/ethos_u/device.h"

namespace isthmus::ethos_u {

const IntegerKernels& integer_kernels(Device device);

// One node of a quantized graph as a TOSA graph. Its inputs are those of the node but for constants that are packed
// into operators; all of them and the result lie as the model has them. Fails where the node has no form, but asks for
// no limits of the device.
struct NodeGraph {
  tosa::Graph graph;
  std::vector<std::size_t> inputs;  // of the node: which of them the graph takes
};
Expected<NodeGraph> node_graph(const Graph& graph, const Node& node, Device device);

}  // namespace isthmus::ethos_u
