// Models in float and programs as something that computes outputs.
#pragma once

#include "base/bytes.h"
#include "evaluate/side_by_side.h"
#include "frontends/model.h"
#include "interpret/integer.h"
#include "session/stages.h"

namespace isthmus {

// Runners of one thread each. The program must outlive them. Codes at the border of the graph that it was made of are
// made of floats and turned back by their parameters, which the program itself does not know.
RunnerMaker program_runners(const Blob& program, const Graph* graph = nullptr);

// The model in float, as fast as this machine can: on the local XNNPACK where that has it all, else by the reference
// kernels.
Expected<RunnerMaker> float_runners(const Prepared& prepared, const Model& model);

// On the interpreters, with the same bits on every CPU. The graph must outlive them.
RunnerMaker reference_runners(const Graph& graph);
RunnerMaker integer_runners(const Graph& quantized, const IntegerKernels& kernels);

}  // namespace isthmus
