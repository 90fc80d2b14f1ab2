// Finds where a program departs from the model that it was made from.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/diag.h"
#include "base/expected.h"
#include "fidelity/fidelity.h"
#include "ir/graph.h"
#include "program/anatomy/anatomy.h"
#include "session/data.h"
#include "session/prepare.h"
#include "session/program.h"
#include "session/program_sizes.h"

namespace isthmus {

struct VerifyProgramOptions {
  PrepareOptions prepare;  // of the reference
  DataOptions data;
  ProgramOptions program;
  std::string device_outputs;         // a folder of .npy files that a device left; empty: what it computes here
  std::optional<double> input_scale;  // of the inputs of a TOSA graph
};

struct VerifiedProgram {
  anatomy::Graph program;
  Graph model;  // canonical
  fidelity::Verification found;
};

// Takes .pte and .tosa files. `progress` gets the share that is done.
Expected<VerifiedProgram> verify_program(const OpenFile& file, const ReferenceOpener& open_reference,
                                         const VerifyProgramOptions& options, Diagnostics& diagnostics,
                                         const std::function<void(double)>& progress = {});

}  // namespace isthmus
