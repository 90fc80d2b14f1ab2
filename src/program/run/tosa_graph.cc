// Asks the interpreter.
#include "program/run/tosa_graph.h"

#include <algorithm>
#include <utility>

#include "program/run/shown_tosa.h"
#include "targets/tosa/interpreter.h"
#include "targets/tosa/rules.h"

namespace isthmus::run {

struct TosaGraph::State {
  tosa::Interpreter interpreter;
  std::vector<TensorInfo> inputs;
  std::size_t operators = 0;
  std::optional<ShownTosa> shown;
};

Expected<TosaGraph> TosaGraph::load(const Blob& file, const LoadOptions& options) {
  tosa::Graph graph = TRY(tosa::read_graph(file));
  const auto operators =
      std::ranges::count_if(graph.operators, [](const tosa::Operator& op) { return !op.inputs.empty(); });
  const tosa::LoadOptions limits{
      .threads = options.threads, .max_bytes = options.max_bytes, .max_work = options.max_work};
  std::optional<ShownTosa> shown;
  if (options.shows_values) shown = TRY(ShownTosa::load(graph, limits));
  tosa::Interpreter interpreter = TRY(tosa::Interpreter::load(std::move(graph), limits));
  std::vector<TensorInfo> inputs;
  for (const tosa::Port& port : interpreter.inputs()) inputs.push_back({port.dtype, port.sizes, false});
  return TosaGraph(std::make_unique<State>(
      State{std::move(interpreter), std::move(inputs), static_cast<std::size_t>(operators), std::move(shown)}));
}

TosaGraph::TosaGraph(std::unique_ptr<State> state) : state_(std::move(state)) {}
TosaGraph::TosaGraph(TosaGraph&&) noexcept = default;
TosaGraph& TosaGraph::operator=(TosaGraph&&) noexcept = default;
TosaGraph::~TosaGraph() = default;

const std::vector<TensorInfo>& TosaGraph::inputs() const { return state_->inputs; }
std::size_t TosaGraph::operator_count() const { return state_->operators; }

Expected<std::vector<std::optional<Tensor>>> TosaGraph::run(std::span<const Tensor> inputs,
                                                            const anatomy::Show& show) const {
  if (show && state_->shown) {
    TRY(state_->shown->run(inputs, [&](std::uint32_t value, const Tensor& elements) {
      show({0, 0, value}, elements);
    }));
  }
  const std::vector<Tensor> results = TRY(state_->interpreter.run(inputs));
  return std::vector<std::optional<Tensor>>(results.begin(), results.end());
}

Expected<std::uint64_t> count_products(const tosa::Graph& graph) {
  TRY(tosa::check(graph));
  return tosa::count_products(graph);
}

}  // namespace isthmus::run
