// A prepared model becomes a quantized one.
#pragma once

#include <optional>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "interpret/tensor.h"
#include "ir/graph.h"
#include "quantize/apply/apply.h"
#include "quantize/apply/layer_cache.h"
#include "quantize/config/config.h"
#include "quantize/improve/input_moments.h"
#include "quantize/plan/plan.h"
#include "session/prepare.h"
#include "session/stage.h"
#include "stats/statistics.h"
#include "targets/partitioning.h"
#include "targets/target.h"

namespace isthmus {

struct QuantizedModel {
  Graph model;     // in float: the prepared graph, its channels equalized where that was wanted
  QuantPlan plan;  // of that graph
  Quantized quantized;
  Partitioning partitioning;  // of the quantized graph
  std::vector<StageTime> times;
};

// A prepared model as configurations find it that differ in nothing but rules, ranges and rounding. What it has of its
// own is the same for all of them, and so are the layers that were quantized before.
struct Adjusted {
  Graph graph;                        // its pins settled, its channels equalized where that was wanted
  const Statistics* given = nullptr;  // those of the prepared graph
  const InputMoments* given_moments = nullptr;
  std::optional<Statistics> own;  // of a graph that was equalized
  std::optional<InputMoments> own_moments;
  Diagnostics said;
  LayerCache layers;
  std::vector<StageTime> times;

  const Statistics* statistics() const { return own ? &*own : given; }
  const InputMoments* moments() const { return own_moments ? &*own_moments : given_moments; }
};
// The statistics and moments must outlive the result.
Expected<Adjusted> adjust(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                          const QuantConfig& config, const InputMoments* moments = nullptr);

// Without statistics the types are right and the parameters mean nothing: enough to say where each node runs. The
// result has been proven against the demands of the target. With moments of what the layers of the prepared graph read,
// weights are rounded together.
Expected<QuantizedModel> quantize(Adjusted& adjusted, const TargetDesc& target, const QuantConfig& config,
                                  Diagnostics& diagnostics);
Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, Diagnostics& diagnostics,
                                  const InputMoments* moments = nullptr);

// Whether the configuration asks for something that has to see samples again.
bool needs_samples(const QuantConfig& config);

// The same with some samples at hand: biases are corrected layer by layer where that is wanted.
Expected<QuantizedModel> quantize(Adjusted& adjusted, const TargetDesc& target, const QuantConfig& config,
                                  const std::vector<std::vector<Tensor>>& samples, Diagnostics& diagnostics);

}  // namespace isthmus
