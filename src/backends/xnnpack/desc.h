// The description of the XNNPACK delegate.
#pragma once

#include "backends/backend.h"

namespace isthmus::xnnpack {

const BackendDesc& desc();

// The table of what composites become.
std::span<const Rewrite> legalizations();

Expected<LoweredSegment> lower(const Graph& graph, const Segment& segment);

}  // namespace isthmus::xnnpack
