// Samples and statistics, from what the user names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/samples.h"
#include "session/calibrate.h"
#include "session/prepare.h"
#include "shard/shard.h"
#include "stats/statistics.h"

namespace isthmus {

struct DataOptions {
  std::string path;  // a file, a folder or "cmd:PROGRAM ARGUMENTS"; empty: the examples of the model
  MediaOptions media;
  std::string labels_file;  // a text file of classes, where the samples have none
  std::shared_ptr<CommandOutput> output = std::make_shared<CommandOutput>();  // of the command, which runs once
  std::optional<std::vector<std::vector<Tensor>>> given;                      // samples in memory instead
  std::vector<std::int64_t> labels;                                           // of these: a class for each row
  std::shared_ptr<const Statistics> statistics;                               // of an earlier calibration instead
  std::optional<std::size_t> max_samples;
  std::optional<std::size_t> sequence;  // states of the model are reset after each run of this many samples
  bool is_reproducible = false;
  std::optional<Shard> shard;  // the samples of this one alone

  bool is_empty() const { return path.empty() && !given && statistics == nullptr; }
  bool is_statistics() const { return statistics != nullptr || path.ends_with(".stats"); }
  bool has_samples() const { return !is_empty() && !is_statistics(); }
  // For messages.
  std::string name() const { return !path.empty() ? path : given ? "the samples given" : "the statistics given"; }
};

// The kernels that calibration computes with.
FloatKernels float_kernels_of(const DataOptions& options);

// The samples that the user gave, or the examples of the model with a warning.
Expected<std::unique_ptr<Samples>> samples_of(const DataOptions& options, const std::string& file,
                                              std::span<const std::optional<TensorView>> examples,
                                              const Prepared& prepared, Diagnostics& diagnostics);

// Of this prepared model, or an error; with a warning where they are of a part of their samples.
Expected<Statistics> known_statistics(const DataOptions& options, const Prepared& prepared, Diagnostics& diagnostics);

}  // namespace isthmus
