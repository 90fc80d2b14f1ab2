// Which node of one graph is which of another: told by what they are and by their neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/anatomy/anatomy.h"

namespace isthmus {

// By node of `a`: its counterpart in `b`. Nodes of different operators are counterparts where what stands around them
// is the same. Names of values only decide between nodes that are alike otherwise.
std::vector<std::optional<std::uint32_t>> match_nodes(const anatomy::Graph& a, const anatomy::Graph& b);

}  // namespace isthmus
