// Checks a finished quantized graph against the description of its device, knowing nothing of how it was made.
#pragma once

#include "backends/backend.h"
#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus {

// The first demand that does not hold, as an error that names the node, its origin, the demand and what was found.
Expected<void> prove(const Graph& graph, const BackendDesc& backend);

}  // namespace isthmus
