// A model on its way through the stages: what `check`, `compile` and `explain` have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/held_out.h"
#include "session/data.h"
#include "cli/model_options.h"
#include "session/open_model.h"
#include "cli/quant_options.h"
#include "evaluate/layer_errors.h"
#include "session/stages.h"
#include "report/compile.h"

namespace isthmus {

struct JourneyOptions {
  ModelOptions model;
  DataOptions samples;
  QuantOptions quant;
  std::size_t threads = default_threads();
  bool is_float = false;
};

// The model, how to quantize it, --float.
void add_journey_options(CLI::App& command, JourneyOptions& options);
// --calibrate, --samples, --threads.
void add_data_options(CLI::App& command, JourneyOptions& options, const std::string& without);

struct Journey {
  OpenModel opened;
  PrepareOptions wanted;
  QuantConfig config;
  Diagnostics diagnostics;
  std::optional<Prepared> prepared;
  std::optional<Statistics> statistics;
  HeldOut held_out;  // of the samples; nothing where there are none
  std::optional<QuantizedModel> quantized;
  std::optional<Compiled> compiled;  // of `quantized`, where it was tried already; never for a device's own compiler

  const TargetDesc& target() const { return *wanted.target; }
  const QuantizedModel* codes() const { return quantized ? &*quantized : nullptr; }
  // What runs, and where.
  const Graph& graph() const { return quantized ? quantized->quantized.graph : prepared->graph; }
  const Partitioning& places() const { return quantized ? quantized->partitioning : prepared->partitioning; }
};

Expected<Journey> start(const JourneyOptions& options);
// Up to where each node runs; with data as good as they will be in the program, without them only their types count.
Expected<void> travel(const JourneyOptions& options, bool with_data, Journey& journey);
// Every command ends with the same error where a node can run nowhere, whatever it found out before.
Expected<void> demand_runnable(const JourneyOptions& options, const Journey& journey);

CompileSummary summary_of(const JourneyOptions& options, const Journey& journey);

// At most so many samples, in memory. Of a .stats file nothing is left of them: there the model's examples serve.
Expected<std::vector<std::vector<Tensor>>> few_samples(const JourneyOptions& options, const Journey& journey,
                                                       std::size_t most);
// What each value lost, on the reference kernels.
Expected<std::vector<ValueError>> errors_of(const JourneyOptions& options, const Journey& journey);

}  // namespace isthmus
