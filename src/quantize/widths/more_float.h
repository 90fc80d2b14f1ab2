// Which nodes cost the outputs so much quantized that float pays, on targets that have both.
#pragma once

#include <optional>
#include <vector>

#include "quantize/config/ranges.h"
#include "quantize/plan/precision.h"
#include "targets/target.h"

namespace isthmus {

// By node: the precision that it should have instead of the one it has, with more of float in it. Nodes, and values
// with all that makes and reads them, are taken one after the other wherever the outputs gain most for the cost, as
// long as all of it together costs no more than this share of what the model costs. What a rule gives quantized values
// or a range stays as it is. Gains are those of a NoiseModel. Needs statistics.
Expected<std::vector<std::optional<Precision>>> more_float(const Graph& graph, const TargetDesc& target,
                                                           const Precisions& precisions,
                                                           const std::vector<NodeSettings>& settings,
                                                           const QuantConfig& config, Ranges& ranges);

}  // namespace isthmus
