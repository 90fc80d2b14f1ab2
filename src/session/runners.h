// Programs and graphs as something that computes outputs.
#pragma once

#include <functional>
#include <memory>

#include "base/bytes.h"
#include "evaluate/side_by_side.h"
#include "interpret/integer.h"
#include "ir/graph.h"
#include "program/run/method.h"
#include "session/io_quant.h"

namespace isthmus {

// Runners of one thread each, which take and give floats. Each loads its own program, but for the first: it takes the
// one that is `loaded` already, at its initial state.
using MethodLoader = std::function<Expected<std::shared_ptr<run::Method>>()>;
RunnerMaker program_runners(MethodLoader load, IoQuant quant, std::shared_ptr<run::Method> loaded = nullptr);

// Of a program that outlives them. With the graph that it was compiled from, quantized inputs and outputs are converted
// from and to float.
RunnerMaker program_runners(const Blob& program, const Graph* graph = nullptr,
                            std::shared_ptr<run::Method> loaded = nullptr);

// On the interpreters, with the same bits on every CPU. The graph must outlive them.
RunnerMaker reference_runners(const Graph& graph);
RunnerMaker integer_runners(const Graph& quantized, const IntegerKernels& kernels);

}  // namespace isthmus
