// Runs samples on several threads, each with runners of its own, ahead of the comparison that takes the results.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "calibrate/samples.h"
#include "engines/xnnpack/thread_pool.h"
#include "evaluate/evaluate.h"

namespace isthmus {

// Makes one more runner of the same kind, which runs beside the others.
using RunnerMaker = std::function<Expected<Runner>()>;

// As `evaluate` on one thread, and with the same result to the last bit: threads run samples, and what they found is
// added in the order of the samples. Models with states need one thread: then each sample finds what the one before
// has left, and new runners begin each sequence.
Expected<Evaluation> evaluate_side_by_side(const RunnerMaker& reference, const RunnerMaker& program, Samples& samples,
                                           std::span<const std::int64_t> labels, std::size_t threads,
                                           const std::function<bool(std::size_t)>& progress = {});

}  // namespace isthmus
