// Compares a program file with the model that it was compiled from.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/diag.h"
#include "base/expected.h"
#include "evaluate/evaluate.h"
#include "session/data.h"
#include "session/open_model.h"
#include "session/prepare.h"
#include "session/program.h"
#include "session/program_sizes.h"

namespace isthmus {

struct EvaluateOptions {
  PrepareOptions prepare;  // of the reference
  DataOptions data;        // may have the array "labels"
  ProgramOptions program;  // its threads run samples at the same time
};

// `progress` gets the share that is done; false ends it with an error.
Expected<Evaluation> evaluate_program(const OpenFile& file, const ReferenceOpener& open_reference,
                                      const EvaluateOptions& options, Diagnostics& diagnostics,
                                      const std::function<bool(double)>& progress = {});

// The manifest of the shard that `options` ask for: samples are read, and nothing is computed.
Expected<Manifest> evaluation_manifest(const OpenFile& file, const ReferenceOpener& open_reference,
                                       const EvaluateOptions& options);

}  // namespace isthmus
