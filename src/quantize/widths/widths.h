// Which values are int8 and which int16.
#pragma once

#include <set>
#include <vector>

#include "quantize/config/config.h"
#include "quantize/config/ranges.h"
#include "quantize/plan/plan.h"
#include "targets/target.h"

namespace isthmus {

struct ChosenWidths {
  std::vector<DType> of_value;
  std::set<Tie> narrow_reads;  // the inputs that take a value of 16 bits as 8 bits
};

// Where nothing else is asked for, and the device has both, quantized values have 16 bits if all nodes that read them
// compute in 32 bits anyway: they lose nothing then, and nothing takes longer. So do joins of which one input would
// lose too many bits beside another; layers that read them take 8 bits, through a rescale. Values that must share
// parameters have one width. The first layers read 16 bits too; see QuantConfig::front. The order of nodes does not
// matter. `ranges` are those of 8 bits.
Expected<ChosenWidths> choose_widths(const Graph& graph, const TargetDesc& target,
                                     const std::vector<Precision>& precision, const std::vector<NodeSettings>& settings,
                                     const QuantConfig& config, Ranges& ranges);

// What is asked for: by the user, or by the archive.
std::vector<DType> asked_widths(const Graph& graph, const std::vector<NodeSettings>& settings,
                                const QuantConfig& config);

}  // namespace isthmus
