// Ratios of scales that the device has.
#pragma once

#include "quantize/plan/plan.h"

namespace isthmus {

// Widens groups until every ratio between the scales of a node's data is one that the device has. Scales only ever
// grow: a result that is finer than its inputs, or an input that is finer than its readers resolve, loses nothing.
Expected<void> keep_ratios(const Graph& graph, const TargetDesc& target, QuantPlan& plan);

// Which limit counts for an op; a row each.
std::vector<const RatioLimit*> limits_of(const IntegerRules& rules, Op op);

}  // namespace isthmus
