// The device's demands on ratios of scales and on sums.
#pragma once

#include "base/expected.h"
#include "ir/graph.h"
#include "targets/integers.h"

namespace isthmus::proof {

// Every ratio between the scales of a node's data is one that the device has. The scales are no placeholders.
Expected<void> keeps_ratios(const Graph& graph, const IntegerRules& rules, const Node& node);

// No sum of a layer leaves the device's accumulator. From the quantized values themselves: the smallest and the largest
// sum that any quantized values of the input can make.
Expected<void> keeps_sums(const Graph& graph, const IntegerRules& rules, const Node& node);

}  // namespace isthmus::proof
