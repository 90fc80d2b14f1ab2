// Writes a plan into the graph: integer types, quantized constants, explicit quantize / dequantize / rescale nodes.
#pragma once

#include "quantize/apply/layer_cache.h"
#include "quantize/improve/input_moments.h"
#include "quantize/plan/plan.h"

namespace isthmus {

struct Quantized {
  Graph graph;
  // By value of the quantized graph: the value of the float graph that it stands for; nothing for constants and for
  // values that only exist here.
  std::vector<std::optional<ValueId>> source;
  // False: some scales are placeholders, so that nothing holds of scales beside each other.
  bool has_ranges = true;
};

// Weights are rounded together where there are moments of what layers read. Nothing else of the plan survives:
// parameters live in the types. Without ranges constants have no data. A cache must have seen no other graph.
Expected<Quantized> apply(const Graph& graph, const QuantPlan& plan, const TargetDesc& target,
                          const Statistics* statistics, const QuantConfig& config,
                          const InputMoments* moments = nullptr, LayerCache* cache = nullptr);

}  // namespace isthmus
