// Warnings about a finished plan.
#pragma once

#include "base/diag.h"
#include "quantize/config/ranges.h"
#include "quantize/plan/plan.h"

namespace isthmus {

// Joins with one scale for inputs whose ranges differ too much.
void warn_of_joins(const Graph& graph, const QuantPlan& plan, Ranges& ranges, Diagnostics& diagnostics);

// Values that must share parameters, to which the archive gives different ones.
void warn_of_pins(const Graph& graph, const QuantPlan& plan, const QuantConfig& config, Diagnostics& diagnostics);

// Groups without parameters in an archive that is quantized in part. There is at least one.
void warn_of_unknown(const Graph& graph, const QuantPlan& plan, Diagnostics& diagnostics);

}  // namespace isthmus
