// A segment of a graph on the local library, with its values shown as they are made.
#pragma once

#include "engines/xnnpack/tapped.h"
#include "targets/layout.h"

namespace isthmus::xnnpack {

Expected<TappedRuntime> tapped(const Graph& graph, const Segment& segment);

}  // namespace isthmus::xnnpack
