// Programs and graphs as something that computes outputs.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "evaluate/side_by_side.h"
#include "interpret/integer.h"
#include "ir/graph.h"
#include "program/run/method.h"

namespace isthmus {

// Runners of one thread each. The program must outlive them. With the graph that the program was compiled from, which
// must outlive them too, quantized inputs and outputs are converted from and to float. `loaded` is the program where it
// is loaded already: the first runner takes it, at its initial state.
RunnerMaker program_runners(const Blob& program, const Graph* graph = nullptr,
                            std::shared_ptr<run::Method> loaded = nullptr);

// On the interpreters, with the same bits on every CPU. The graph must outlive them.
RunnerMaker reference_runners(const Graph& graph);
RunnerMaker integer_runners(const Graph& quantized, const IntegerKernels& kernels);

}  // namespace isthmus
