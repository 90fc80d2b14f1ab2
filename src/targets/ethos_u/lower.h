// A segment of a quantized graph as a TOSA graph.
#pragma once

#include <vector>

#include "formats/tosa/tosa.h"
#include "targets/ethos_u/device.h"
#include "targets/target.h"

namespace isthmus::ethos_u {

struct LoweredGraph {
  tosa::Graph graph;            // its inputs and outputs are those of the segment, in order, as the model has them
  std::vector<NodeId> origins;  // of each operator: the node that it was made for
  std::vector<Conversion> conversions;
};

// Fails with the node's name where a number of it has no place in TOSA, or an operator does not keep a limit of the
// device.
Expected<LoweredGraph> lower_graph(const Graph& graph, const Segment& segment, Device device);

// The same as a delegate that holds the TOSA bytes.
Expected<LoweredSegment> lower_segment(const Graph& graph, const Segment& segment, Device device);

}  // namespace isthmus::ethos_u
