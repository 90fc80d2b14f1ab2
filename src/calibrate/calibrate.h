// Runs a float graph over samples and gathers the statistics of every value.
#pragma once

#include <cstddef>
#include <functional>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/samples.h"
#include "engines/xnnpack/tapped.h"
#include "engines/xnnpack/thread_pool.h"
#include "ir/graph.h"
#include "stats/statistics.h"
#include "targets/partitioning.h"

namespace isthmus {

// Called after each sample, never by two threads at once; false ends the calibration with an error.
using Progress = std::function<bool(std::size_t done)>;

using BuildFloatSegment = Expected<xnnpack::TappedRuntime> (*)(const Graph& graph, const Segment& segment);

// The parts of a graph that the local XNNPACK runs in float, and how one of them becomes a runtime.
struct FloatSegments {
  Partitioning partitioning;
  BuildFloatSegment build = nullptr;  // may be null where there are no segments
};

// What is in no segment runs on the reference kernels. Each thread takes samples of its own; sums are exact, so that
// the result does not depend on the number of threads. Memory does not depend on the number of samples. A model with
// states runs on one thread: each sample finds what the one before has left, from the initial values on, and again from
// there after each sequence.
//
// Histograms of large tensors count every n-th number, see `histogram_stride`; all else is over all numbers.
Expected<Statistics> calibrate(const Graph& graph, const FloatSegments& segments, Samples& samples,
                               const xnnpack::ThreadPool& threads, const Progress& progress, Diagnostics& diagnostics);

// Which numbers of a tensor go into the histogram: each n-th, so that about 4096 of them are counted. It has no divisor
// in common with the size of the innermost axis, so that it meets every channel.
std::size_t histogram_stride(std::size_t count, std::size_t innermost);

}  // namespace isthmus
