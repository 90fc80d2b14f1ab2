// Layers that take zeros to zeros.
#pragma once

#include "ir/graph.h"
#include "stats/statistics.h"

namespace isthmus {

// Whether a layer has made exact zeros during calibration. Where a channel has no bias, those come from inputs that are
// zero themselves, as padding is. Quantized they are as exact: there is no error for a corrected bias to make up for.
// It would make these zeros small numbers instead, and a later division by their norm would make those large.
bool makes_zeros(const Graph& graph, const Node& layer, const Statistics& statistics);

}  // namespace isthmus
