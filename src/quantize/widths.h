// Which values have codes of 8 bits and which of 16.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "quantize/config.h"
#include "quantize/plan.h"

namespace isthmus {

// By value. Where nothing else is asked for, and the device has both, codes have 16 bits if everybody who reads them
// computes in 32 bits anyway: they lose nothing then, and nothing takes longer. What must share parameters has one
// width. The first layers read 16 bits too; see QuantConfig::front. The order of nodes does not matter.
std::vector<DType> choose_widths(const Graph& graph, const BackendDesc& backend,
                                 const std::vector<Precision>& precision, const std::vector<NodeSettings>& settings,
                                 const QuantConfig& config);

}  // namespace isthmus
