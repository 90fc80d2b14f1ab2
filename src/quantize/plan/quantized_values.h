// Which values are quantized, once every node has its precision.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "quantize/config/config.h"
#include "quantize/plan/precision.h"

namespace isthmus {

// Whether a value is quantized: some quantized node makes or reads it, or it is a quantized input or output of the
// model. Constants are quantized where they are read, for each reader.
std::vector<bool> quantized_values(const Graph& graph, const std::vector<Precision>& precision,
                                   const QuantConfig& config);

// Whether a value is quantized when it is made, so that a reader that wants it otherwise must convert it.
bool is_made_quantized(const Graph& graph, const std::vector<Precision>& precision, const QuantConfig& config,
                       ValueId id);

}  // namespace isthmus
