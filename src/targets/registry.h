// The table of targets: the only place that names them all.
#pragma once

#include <span>
#include <string_view>

#include "base/expected.h"
#include "engines/xnnpack/tapped.h"
#include "targets/layout.h"
#include "targets/target.h"

namespace isthmus {

// Every target by its name on the command line, sorted.
std::span<const TargetDesc* const> all_targets();
// Null if there is none of this name.
const TargetDesc* find_target(std::string_view name);

// The one whose delegates this machine runs in float, and fast: calibration and references in float run there.
const TargetDesc& local_float_target();
// A segment of that target in float, with every value shown as it is computed.
Expected<xnnpack::TappedRuntime> build_float_segment(const Graph& graph, const Segment& segment);

// The finishing steps of all targets, each once.
std::span<const FinishingStep* const> all_finishing_steps();

}  // namespace isthmus
