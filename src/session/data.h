// Samples and statistics, for the commands that take data.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/samples.h"
#include "engines/xnnpack/thread_pool.h"
#include "frontends/model.h"
#include "session/stages.h"
#include "stats/statistics.h"

namespace isthmus {

struct DataOptions {
  std::string data;  // a file or a folder; empty: the examples of the model
  std::optional<std::size_t> most;
  std::optional<std::size_t> sequence;  // after so many samples the states of a model begin anew
  bool is_reproducible = false;
};

// --sequence
void add_sequence(CLI::App& command, DataOptions& options);

// --reproducible
void add_reproducible(CLI::App& command, DataOptions& options);

// That calibration computes with.
FloatKernels float_kernels_of(const DataOptions& options);

// The samples that the user gave, or the examples of the model with a warning.
Expected<std::unique_ptr<Samples>> samples_of(const DataOptions& options, const std::string& file, const Model& model,
                                              const Prepared& prepared, Diagnostics& diagnostics);

// From samples, with a progress bar; Ctrl-C ends it with an error. Data may also be a .stats file of this model.
// `left_out` has the numbers of samples that are not shown to calibration.
Expected<Statistics> gather_statistics(const DataOptions& options, const std::string& file, const Model& model,
                                       const Prepared& prepared, const xnnpack::ThreadPool& threads,
                                       Diagnostics& diagnostics, const std::vector<std::size_t>& left_out = {});

}  // namespace isthmus
