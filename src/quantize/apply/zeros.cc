// From the counts of zeros in histograms.
#include "quantize/apply/zeros.h"

namespace isthmus {

bool makes_zeros(const Graph& graph, const Node& layer, const Statistics& statistics) {
  const auto has_zeros = [&](ValueId id) {
    const auto found = statistics.values.find(graph[id].name);
    return found == statistics.values.end() || found->second.histogram.zeros > 0;
  };
  // What a clamp hides was not measured: zeros may be there if any went in.
  return has_zeros(layer.outputs[0]) && has_zeros(layer.inputs[0]);
}

}  // namespace isthmus
