// Models in float and programs as something that computes outputs.
#pragma once

#include "base/bytes.h"
#include "evaluate/evaluate.h"
#include "load/load.h"
#include "pipeline.h"

struct pthreadpool;

namespace isthmus {

// The program must outlive the runner; codes at its border are turned into floats and back by their parameters.
Expected<Runner> program_runner(const Blob& program, pthreadpool* threads);

// The model in float, as fast as this machine can: on the local XNNPACK where that has it all, else by the reference
// kernels.
Expected<Runner> float_runner(const Prepared& prepared, const Model& model, pthreadpool* threads);

}  // namespace isthmus
