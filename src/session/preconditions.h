// What a session demands of its options and its model before it works on them.
#pragma once

#include <optional>

#include "base/diag.h"
#include "base/expected.h"
#include "ir/graph.h"
#include "quantize/config/config.h"
#include "targets/target.h"

namespace isthmus {

// The target's finishing step, where it is wanted or at hand; nothing where the delegates stay as they are.
Expected<std::optional<Finisher>> finisher_for(const TargetDesc& target, const FinishSettings& settings);

// A rule that matches nothing is a mistake: what it was meant for would be quantized like the rest.
Expected<void> demand_used_rules(const Diagnostics& said, const Graph& graph, const QuantConfig& config);

// Samples cannot pass an op that is unknown.
Expected<void> demand_known(const Graph& graph, const TargetDesc& target, const Diagnostics& diagnostics);

}  // namespace isthmus
