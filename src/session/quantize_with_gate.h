// Quantizes a model and switches off what does not help it.
#pragma once

#include <cstddef>

#include "base/expected.h"
#include "session/session.h"

namespace isthmus {

// How many of the samples that calibration sees are kept in memory, for trials and for techniques that run samples.
std::size_t max_seen_samples(const Graph& graph);

// Fills `quantized`, and `compiled` where a trial compiled it. With statistics and held-out samples, techniques that
// hurt or that are not worth their time are switched off in `config`. With --reproducible the trials run on the
// reference interpreters, so that the outcome is the same on every CPU.
Expected<void> quantize_with_gate(const JourneyOptions& options, Journey& journey);

}  // namespace isthmus
