// Checks a finished quantized graph against the description of its device, knowing nothing of how it was made.
#pragma once

#include "base/expected.h"
#include "ir/graph.h"
#include "quantize/apply/apply.h"
#include "targets/target.h"

namespace isthmus {

// The first demand that does not hold, as an error that names the node, its origin, the demand and what was found:
//   cat %tokens (vit.py:41): concatenates bytes and cannot rescale them: %a has i8 scale 0.05 zp 3, %tokens has i8
//   scale 0.06 zp 3
// Constants without data are taken to be what their types say. Without ranges nothing is asked of scales beside each
// other.
Expected<void> prove(const Graph& graph, const TargetDesc& target, bool has_ranges = true);

// The same, and that it is the model that was quantized: each node reads what it reads in the model, save for
// conversions, no bound of a clamp is lost, what the model pins has those parameters, no node computes on quantized
// values that the model or the device keeps in float, and inputs and outputs have the types that the user wants.
Expected<void> prove(const Quantized& quantized, const TargetDesc& target, const Graph& model,
                     const QuantConfig& config);

}  // namespace isthmus
