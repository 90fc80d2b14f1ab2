// What is said of weights that PyTorch has quantized.
#pragma once

#include "base/diag.h"
#include "ir/graph.h"

namespace isthmus {

// Warns of quantized values with a zero point that a layer takes as weights: every target wants symmetric ones, so that
// they are rounded again. The spellings of the graph are resolved, its constants not folded yet.
void warn_of_weights(const Graph& graph, Diagnostics& diagnostics);

}  // namespace isthmus
