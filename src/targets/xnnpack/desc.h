// The description of the XNNPACK delegate.
#pragma once

#include "targets/target.h"

namespace isthmus::xnnpack {

const TargetDesc& desc();

// The table of what composites become.
std::span<const Rewrite> legalizations();
// Whether the delegate refuses the node, in float, and another form of it may be taken.
bool needs_other_form(const Graph& graph, const Node& node);

Expected<LoweredSegment> lower(const Graph& graph, const Segment& segment);

}  // namespace isthmus::xnnpack
