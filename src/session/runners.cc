// Runners of programs and of graphs.
#include "session/runners.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "evaluate/layer_errors.h"
#include "interpret/integer.h"
#include "interpret/interpreter.h"
#include "program/run/method.h"

namespace isthmus {

namespace {

Tensor to_floats(const Tensor& codes, const Quant& quant) {
  const std::vector<float> numbers = dequantized(codes, quant);
  Tensor result(DType::kF32, codes.sizes());
  std::ranges::copy(numbers, result.mutable_data<float>().begin());
  return result;
}

std::vector<TensorType> output_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const Output& output : graph.outputs()) {
    if (output.kind != OutputKind::kResult) continue;
    const auto* id = std::get_if<ValueId>(&output.value);
    types.push_back(id == nullptr ? TensorType{} : graph.type(*id));
  }
  return types;
}

// Around a runner whose inputs and outputs are quantized.
Runner with_float_io(Runner inner, const Graph& graph) {
  std::vector<TensorType> inputs;
  for (const ValueId id : graph.inputs()) inputs.push_back(graph.type(id));
  return [inner = std::move(inner), inputs = std::move(inputs), outputs = output_types(graph)](
             std::span<const Tensor> given) -> Expected<std::vector<std::optional<Tensor>>> {
    std::vector<Tensor> converted;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool is_quantized = i < inputs.size() && inputs[i].quant && given[i].dtype() == DType::kF32;
      converted.push_back(is_quantized ? codes_of(given[i], inputs[i]) : given[i]);
    }
    auto results = TRY(inner(converted));
    for (std::size_t i = 0; i < results.size() && i < outputs.size(); ++i) {
      if (results[i] && outputs[i].quant) results[i] = to_floats(*results[i], *outputs[i].quant);
    }
    return results;
  };
}

}  // namespace

RunnerMaker program_runners(const Blob& program, const Graph* graph, std::shared_ptr<run::Method> loaded) {
  // Copies of the maker share it: it goes to one runner.
  const auto spare = std::make_shared<std::shared_ptr<run::Method>>(std::move(loaded));
  return [program, graph, spare]() -> Expected<Runner> {
    std::shared_ptr<run::Method> method = std::exchange(*spare, nullptr);
    if (method == nullptr) {
      method = std::make_shared<run::Method>(TRY(run::Method::load(program)));
    } else {
      method->reset();
    }
    Runner runner = [method](std::span<const Tensor> inputs) { return method->run(inputs); };
    return graph == nullptr ? runner : with_float_io(std::move(runner), *graph);
  };
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
        quantized);
  };
}

}  // namespace isthmus
