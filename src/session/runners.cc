// Runners of programs and of graphs.
#include "session/runners.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "program/run/method.h"
#include "session/io_quant.h"

namespace isthmus {

namespace {

// Of the graph that a program was compiled from.
IoQuant io_quant_of(const Graph& graph) {
  const auto quantized = [&](ValueId id) {
    const TensorType& type = graph.type(id);
    return type.quant ? std::optional(type) : std::nullopt;
  };
  IoQuant result;
  for (const ValueId id : graph.inputs()) result.inputs.push_back(quantized(id));
  for (const Output& output : graph.outputs()) {
    if (output.kind != OutputKind::kResult) continue;
    const auto* id = std::get_if<ValueId>(&output.value);
    result.outputs.push_back(id == nullptr ? std::nullopt : quantized(*id));
  }
  return result;
}

}  // namespace

RunnerMaker program_runners(MethodLoader load, IoQuant quant, std::shared_ptr<run::Method> loaded) {
  // Copies of the maker share it: it goes to one runner.
  const auto spare = std::make_shared<std::shared_ptr<run::Method>>(std::move(loaded));
  return [load = std::move(load), quant = std::move(quant), spare]() -> Expected<Runner> {
    std::shared_ptr<run::Method> method = std::exchange(*spare, nullptr);
    if (method == nullptr) {
      method = TRY(load());
    } else {
      method->reset();
    }
    return with_float_io([method](std::span<const Tensor> inputs) { return method->run(inputs); }, quant);
  };
}

RunnerMaker program_runners(const Blob& program, const Graph* graph, std::shared_ptr<run::Method> loaded) {
  const auto load = [program]() -> Expected<std::shared_ptr<run::Method>> {
    return std::make_shared<run::Method>(TRY(run::Method::load(program)));
  };
  return program_runners(load, graph == nullptr ? IoQuant() : io_quant_of(*graph), std::move(loaded));
}

RunnerMaker reference_runners(const Graph& graph) {
  return [&graph]() -> Expected<Runner> {
    const auto states = std::make_shared<StateValues>(TRY(initial_states(graph)));
    return Runner(
        [&graph, states](std::span<const Tensor> inputs) { return interpret(graph, inputs, {}, states.get()); });
  };
}

RunnerMaker integer_runners(const Graph& quantized, const IntegerKernels& kernels) {
  const auto interpreter = std::make_shared<IntegerInterpreter>(quantized, kernels);
  return [&quantized, interpreter]() -> Expected<Runner> {
    const auto states = std::make_shared<StateValues>(TRY(initial_states(quantized)));
    return with_float_io(
        [interpreter, states](std::span<const Tensor> inputs) { return interpreter->run(inputs, {}, states.get()); },
        io_quant_of(quantized));
  };
}

}  // namespace isthmus
