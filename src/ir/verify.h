// Checks that a graph is well formed.
#pragma once

#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus {

// Execution order, names, ids, shapes, constants' data, and that foreign arguments and inputs agree.
// The first problem is an error that names the node.
Expected<void> verify(const Graph& graph);

}  // namespace isthmus
