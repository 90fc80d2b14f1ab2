// Quantizes a model and switches off techniques that do not help it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/held_out.h"
#include "quantize/config/config.h"
#include "session/attempts.h"
#include "session/calibrate.h"
#include "session/float_model.h"
#include "session/promote.h"
#include "session/stage.h"

namespace isthmus {

// How many of the samples that calibration sees are kept in memory, for trials and for techniques that run samples.
std::size_t max_seen_samples(const Graph& graph);
// Those of them for techniques that run samples.
std::vector<Sample> refining_samples(const HeldOut& held_out);

struct GateInputs {
  AttemptInputs attempt;
  FloatModel& float_model;
  const HeldOut& held_out;
  QuantConfig config;
  FloatKernels kernels = FloatKernels::kXnnpack;
  std::size_t threads = 1;
};

struct Chosen {
  QuantConfig config;
  QuantizedModel model;
  std::optional<Compiled> compiled;  // where a trial compiled it
  Diagnostics said;
  std::vector<NodeGain> promoted;  // nodes that --promote made more precise
  std::vector<StageTime> times;    // of the choice and, said to be of trials, of all others
};

// With statistics and held-out samples, techniques that hurt or that are not worth their time are switched off. With
// --reproducible the trials run on the reference interpreters, so that the outcome is the same on every CPU. An error
// of `before_attempt` ends it all.
Expected<Chosen> quantize_with_gate(const GateInputs& inputs, const TrialProgress& before_attempt);

// Samples for trials of single nodes, and what the model in float makes of them: held-out ones and some that
// calibration saw, or `others` where none of those are at hand.
Expected<std::vector<Trial>> node_trials(const GateInputs& inputs, const std::vector<Sample>& others);

}  // namespace isthmus
