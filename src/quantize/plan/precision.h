// Which nodes compute on quantized values and which in float.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "quantize/config/config.h"
#include "quantize/plan/plan.h"
#include "targets/target.h"

namespace isthmus {

// By node: a clamp that alone reads the result of a node which can have it as its bounds. The value between them is
// never seen by anybody.
std::vector<bool> fused_clamps(const Graph& graph, const TargetDesc& target);

struct Precisions {
  std::vector<Precision> of_node;
  std::vector<PrecisionCause> causes;          // by node
  std::vector<std::optional<Reason>> reasons;  // by node: why the device has no quantized values for it
  std::vector<bool> can_have_rows;             // by node: it has a form of that precision and may take it
};

// What has weights computes on quantized values where the device can, or with quantized weights alone where it has such
// a form and floats are around; steps of composites and what the user or the device wants in float do not. All others
// take the precision that makes the fewest bytes change theirs; where both make as many, movers take quantized values
// and what computes takes float. Devices without float compute on quantized values whatever they can; on others, where
// the archive has quantized some nodes, what computes does so as it does there. `wanted` says what some nodes shall
// have whatever it costs.
Precisions choose_precisions(const Graph& graph, const TargetDesc& target, const std::vector<NodeSettings>& settings,
                             const QuantConfig& config, std::span<const std::optional<Precision>> wanted = {});

}  // namespace isthmus
