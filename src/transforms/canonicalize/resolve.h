// Replaces every call of a frontend by the ops of the table that it means.
#pragma once

#include "base/diag.h"
#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus {

// Calls that write to memory become functional: later readers of what was written, directly or through a view, read
// the new value. Graphs without foreign ops come back as they are.
Expected<Graph> resolve_spellings(const Graph& graph, Diagnostics& diagnostics);

}  // namespace isthmus
