// The samples that calibration does not see, by which its result is judged.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/data_checks.h"
#include "calibrate/samples.h"
#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus {

using Sample = std::vector<Tensor>;  // a tensor for each input of the graph

struct HeldOut {
  std::vector<Sample> samples;        // that calibration does not see; at most 16
  std::vector<std::size_t> left_out;  // their numbers in the data; empty where they are not part of it
  std::vector<Sample> seen;           // a few of those that calibration sees
  std::string what;                   // "4 samples that calibration did not see"
  std::string why_none;               // where there are no samples
  bool has_bad_inputs = false;        // the data of some input were warned of
};

// Which samples are left out where samples of the set have to serve: every 8th, at least one of two and at
// most 16, spread evenly.
std::vector<std::size_t> numbers_left_out(std::size_t count);

// Reads all samples once, says what is wrong with them, and chooses. Few samples are all needed for ranges: there the
// archive's example serves, where it is none of them and of their kind. Of 64 and more, some are left out. Where the
// data are broken (constant, tiny, outliers) the example is the only witness; without one there is none. For a model
// with states it is the start of the last sequence, or of the data where these are one sequence, which calibration sees
// then.
Expected<HeldOut> hold_out(const Graph& graph, Samples& samples, const std::optional<Sample>& example,
                           std::size_t max_seen, Diagnostics& diagnostics);

// The same where only statistics are left of the samples.
HeldOut hold_out(const Graph& graph, const Statistics& statistics, const std::optional<Sample>& example,
                 Diagnostics& diagnostics);

// The samples but for those with these numbers, which rise.
std::unique_ptr<Samples> without(std::unique_ptr<Samples> source, std::vector<std::size_t> left_out);

}  // namespace isthmus
