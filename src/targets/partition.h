// Decides for each node whether the device runs it, and in which delegate.
#pragma once

#include "ir/graph.h"
#include "targets/partitioning.h"
#include "targets/target.h"

namespace isthmus {

// Segments are convex, and as few as there can be: a node of the device belongs to the segment whose number is the
// greatest number of changes from device to host on any way to it. Where a way changes k times, it needs k + 1
// delegates one after another whatever the division, and this division has no more than the longest way needs.
Partitioning partition(const Graph& graph, const TargetDesc& target);
// The same where it is known already which nodes the device refuses, and why: a reason or nothing, by node.
Partitioning partition(const Graph& graph, const std::vector<std::optional<Reason>>& reasons);

}  // namespace isthmus
