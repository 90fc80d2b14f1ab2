// What computing constants costs, and may cost.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace isthmus {

// In one run of rewrites, or while a model is loaded: a small file must not keep the compiler busy for hours, nor fill
// its memory.
struct FoldingBudget {
  // Enough for every small model.
  std::uint64_t steps = std::uint64_t{1} << 32;  // elements made or read, and products
  std::uint64_t bytes = std::uint64_t{1} << 30;  // of results

  // And more in proportion to the bytes that the graph has.
  static FoldingBudget of(const Graph& graph);
  // False where it is not left; then nothing is taken.
  bool take(std::uint64_t wanted_steps, std::uint64_t wanted_bytes);
};

// Saturates, also where a size is not known.
std::uint64_t element_count(const Shape& shape, std::size_t first_axis = 0);
// An upper bound of what the kernel of a node of the graph does.
std::uint64_t folding_steps(const Graph& graph, const Node& node);

}  // namespace isthmus
