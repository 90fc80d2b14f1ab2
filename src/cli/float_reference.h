// Models in float and programs as something that computes outputs.
#pragma once

#include "base/bytes.h"
#include "evaluate/evaluate.h"
#include "load/load.h"
#include "pipeline.h"

struct pthreadpool;

namespace isthmus {

// The program must outlive the runner. Codes at the border of the graph that it was made of are made of floats and
// turned back by their parameters, which the program itself does not know.
Expected<Runner> program_runner(const Blob& program, pthreadpool* threads, const Graph* graph = nullptr);

// The model in float, as fast as this machine can: on the local XNNPACK where that has it all, else by the reference
// kernels.
Expected<Runner> float_runner(const Prepared& prepared, const Model& model, pthreadpool* threads);

}  // namespace isthmus
