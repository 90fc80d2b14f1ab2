// What tells values apart when their costs and ranges do not.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace isthmus {

// By value: a number that follows from all that it is made from and from all that is made from it; never from names,
// from the order of nodes, or from the order in which a node reads its data. Two values of one number are told apart by
// nothing that a plan looks at besides ranges.
std::vector<std::uint64_t> structure_of(const Graph& graph);

}  // namespace isthmus
