// Which nodes the outputs gain most by, measured: each is computed in float, or in 16 bits where the target has no
// float, and the model is run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "evaluate/gate.h"
#include "quantize/config/config.h"
#include "session/attempts.h"

namespace isthmus {

// What it brings and costs to compute one node more precisely.
struct NodeGain {
  std::string node;        // the name of its result
  double db = 0;           // by which the outputs come closer to float, their mean
  std::int64_t bytes = 0;  // by which the program grows
  // By which a run takes longer: on this machine as it was measured, where it can run what the target computes, or on
  // the device as the target estimates it.
  std::optional<double> milliseconds = {};
  std::optional<double> cycles = {};
};

// Done and to do, before each trial; an error ends the search.
using TrialProgress = std::function<Expected<void>(std::size_t done, std::size_t all)>;

// How much each node would bring alone, the best first. Of very large models only the nodes with the worst rounding.
Expected<std::vector<NodeGain>> node_gains(Attempts& attempts, const QuantConfig& config,
                                           const std::vector<Trial>& trials, const TrialProgress& progress);

struct Promotion {
  QuantConfig config;              // with a rule for each promoted node
  std::vector<NodeGain> promoted;  // in the order in which they were taken: each brings this beside those before
};
// Takes the nodes that the outputs gain most by, one after the other, at most `config.promote`. Nodes that gain only
// together are missed that way, so the nodes with the largest rounding errors, and those with the largest estimated
// noise at the outputs, are tried as well; the set with the best outputs stays. Warns where it has fewer nodes.
Expected<Promotion> promote(Attempts& attempts, QuantConfig config, const std::vector<Trial>& trials,
                            const TrialProgress& progress, Diagnostics& diagnostics);

}  // namespace isthmus
