// How large values are, for comparing costs.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace isthmus {

// A symbolic size counts as its smallest. No size and no product is absurd: both are bounded.
std::uint64_t elements_of(const Graph& graph, ValueId id);

}  // namespace isthmus
