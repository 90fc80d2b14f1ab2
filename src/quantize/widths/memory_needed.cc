// Lifetimes by depth, and a tree of the most bytes below each of its places.
#include "quantize/widths/memory_needed.h"

#include <algorithm>

namespace isthmus {

MemoryNeeded::MemoryNeeded(const Graph& graph) : first_(graph.values().size(), 0) {
  for (const Node& node : graph.nodes()) {
    std::size_t depth = 0;
    for (const ValueId input : node.inputs) depth = std::max(depth, first_[input.index]);
    for (const ValueId output : node.outputs) first_[output.index] = depth + 1;
  }
  last_ = first_;
  for (const Node& node : graph.nodes()) {
    if (node.outputs.empty()) continue;
    const std::size_t depth = first_[node.outputs[0].index];
    for (const ValueId input : node.inputs) last_[input.index] = std::max(last_[input.index], depth);
  }
  while (leaves_ < graph.nodes().size() + 2) leaves_ *= 2;
  max_.assign(2 * leaves_, 0.0);
  added_.assign(2 * leaves_, 0.0);
}

// Of depths from `begin` to `end`, below a place of the tree that stands for those from `low` to `high`.
void MemoryNeeded::add(std::size_t place, std::size_t low, std::size_t high, std::size_t begin, std::size_t end,
                       double bytes) {
  if (begin >= high || end <= low) return;
  if (begin <= low && high <= end) {
    max_[place] += bytes;
    added_[place] += bytes;
    return;
  }
  const std::size_t middle = low + (high - low) / 2;
  add(2 * place, low, middle, begin, end, bytes);
  add(2 * place + 1, middle, high, begin, end, bytes);
  max_[place] = std::max(max_[2 * place], max_[2 * place + 1]) + added_[place];
}

}  // namespace isthmus
