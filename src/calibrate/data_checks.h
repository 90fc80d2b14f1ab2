// Data that cannot give good ranges: what is wrong with it, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/diag.h"
#include "calibrate/interleaving.h"
#include "ir/graph.h"
#include "stats/statistics.h"

namespace isthmus {

enum class DataProblem : std::uint8_t {
  kConstant,       // one number everywhere
  kTiny,           // all numbers are next to nothing
  kOutliers,       // a few numbers are so large that all others fall into one or two int8 steps
  kUnlikeExample,  // far larger or smaller than the archive's example
  kInterleaved,    // channels last in the shape of channels first
};

// What was seen of one input of the model.
struct InputData {
  ValueStatistics seen;  // nothing for an input that is not f32
  std::optional<Moments> example;
  std::optional<std::size_t> largest_in;  // the sample that has the largest magnitude, where that is known
  Interleaving pixels;
  Interleaving example_pixels;
};

// The numbers of one input over all samples, and beside those of the archive's example, where there is one; one that is
// constant itself says nothing.
std::optional<DataProblem> problem_of(const InputData& input);

// A warning for each input with a problem.
void warn_of_inputs(const Graph& graph, std::span<const InputData> inputs, Diagnostics& diagnostics);

// A warning for each value behind the inputs whose range is tiny or dominated by outliers, of those for which it
// matters. What is wrong with inputs goes through the whole model: this is for data whose inputs are fine.
void warn_of_values(const Graph& graph, const Statistics& statistics, const std::function<bool(ValueId)>& matters,
                    Diagnostics& diagnostics);

}  // namespace isthmus
