// A graph for some of the sizes that it was exported for.
#pragma once

#include "ir/graph.h"

namespace isthmus {

// The same graph with these symbols replaced by numbers, and these with another upper bound. Symbols that are not
// declared are our caller's mistake.
Graph specialize(const Graph& graph, const SymbolValues& numbers, const SymbolValues& upper_bounds);

}  // namespace isthmus
