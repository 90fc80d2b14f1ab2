// What tells a graph from others.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace isthmus {

// Of its text and its constants; origins and names in the user's module do not matter. `version` tells apart what the
// same graph means to two versions of the keeper of the number.
std::uint64_t fingerprint(const Graph& graph, std::uint32_t version);

}  // namespace isthmus
