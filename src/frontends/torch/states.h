// The buffers and inputs that a model writes to by calls in place.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace isthmus {

// Constants and inputs of a graph as it was loaded, in their order, that some call may write to: directly or through a
// view. A buffer named here may turn out to be unchanged; no other one is written.
std::vector<ValueId> written_in_place(const Graph& graph);

}  // namespace isthmus
