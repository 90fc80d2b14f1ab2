// Counting readers.
#include "ir/readers.h"

namespace isthmus {

std::vector<std::size_t> reader_counts(const Graph& graph) {
  std::vector<std::size_t> counts(graph.values().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : node.inputs) ++counts[input.index];
  }
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) ++counts[id->index];
  }
  return counts;
}

}  // namespace isthmus
