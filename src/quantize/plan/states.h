// Which states of a model are kept quantized.
#pragma once

#include "ir/graph.h"
#include "quantize/config/config.h"
#include "quantize/plan/plan.h"

namespace isthmus {

// A state and what a run leaves in it are one tensor: it is kept quantized where both have the same parameters,
// the new value is made quantized, no reader wants other parameters, and the initial value clips nothing.
// Else it is kept in float. Either way the numbers are the same: quantized values that become floats and are rounded
// again with the same parameters are the same quantized values.
void choose_states(const Graph& graph, const QuantConfig& config, QuantPlan& plan);

}  // namespace isthmus
