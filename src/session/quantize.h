// A prepared model becomes a quantized one.
#pragma once

#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "interpret/tensor.h"
#include "ir/graph.h"
#include "quantize/apply/apply.h"
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

// Without statistics the types are right and the parameters mean nothing: enough to say where each node runs. The
// result has been proven against the demands of the target. With moments of what the layers of the prepared graph read,
// weights are rounded together.
Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, Diagnostics& diagnostics,
                                  const InputMoments* moments = nullptr);

// Whether the configuration asks for something that has to see samples again.
bool needs_samples(const QuantConfig& config);

// The same with some samples at hand: biases are corrected layer by layer where that is wanted.
Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, const std::vector<std::vector<Tensor>>& samples,
                                  Diagnostics& diagnostics, const InputMoments* moments = nullptr);

}  // namespace isthmus
