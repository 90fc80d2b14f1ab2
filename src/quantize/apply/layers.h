// Weights and biases of layers, as constants of the quantized graph.
#pragma once

#include <vector>

#include "quantize/apply/layer_cache.h"
#include "quantize/apply/weights.h"
#include "quantize/improve/input_moments.h"
#include "quantize/plan/plan.h"

namespace isthmus {

// A constant of which only the shape is known.
inline Constant without_data(const Constant& constant) { return {constant.fqn, std::nullopt, 0}; }

class LayerWriter {
 public:
  struct Sources {
    const Graph& graph;
    const QuantPlan& plan;
    const TargetDesc& target;
    const Statistics* statistics;  // null: none
    const QuantConfig& config;
    const InputMoments* moments;  // null: none
    LayerCache* cache;            // null: none
  };
  LayerWriter(const Sources& sources, Graph& out) : in_(sources), out_(out) {}

  // Adds int8 weights and an int32 bias behind the quantized data in `inputs`.
  void add_quantized(const Node& node, bool per_channel, std::vector<ValueId>& inputs);

  // Adds int8 weights and a float bias behind the float data in `inputs`, for a device that quantizes rows dynamically.
  // Without ranges the bias is left to the caller.
  void add_rows(const Node& node, std::vector<ValueId>& inputs);

 private:
  QuantizedLayer quantized(const Node& node, float input_scale, const LayerOptions& options) const;
  LayerOptions layer_options(const Node& node, bool per_channel, DType input) const;
  const LayerMoments* moments_of(const Node& node) const;
  // By channel of the node's input, where calibration has seen them.
  std::optional<std::vector<double>> means_of(const Node& node) const;
  void add_shapes_only(const Node& node, std::vector<ValueId>& inputs);

  Sources in_;
  Graph& out_;
};

}  // namespace isthmus
