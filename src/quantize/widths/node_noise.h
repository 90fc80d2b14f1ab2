// Which nodes add most to the noise of the outputs, from statistics alone.
#pragma once

#include <vector>

#include "quantize/config/config.h"
#include "quantize/plan/plan.h"
#include "stats/statistics.h"

namespace isthmus {

// By node of the planned graph: the part that rounding its weights and its result has of the noise of an output, summed
// over all outputs; an estimate of a NoiseModel. 0 of what is computed in float.
std::vector<double> node_noise(const Graph& graph, const QuantPlan& plan, const Statistics& statistics);

}  // namespace isthmus
