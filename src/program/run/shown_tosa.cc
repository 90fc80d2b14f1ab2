// Makes every result an output.
#include "program/run/shown_tosa.h"

namespace isthmus::run {

Expected<ShownTosa> ShownTosa::load(const tosa::Graph& graph, const tosa::LoadOptions& options) {
  tosa::Graph all = graph;
  all.outputs.clear();
  for (const tosa::Operator& op : graph.operators) {
    if (op.inputs.empty()) continue;  // a constant
    for (const tosa::ValueIndex output : op.outputs) {
      if (graph.values[output].type != tosa::Type::kShape) all.outputs.push_back(output);
    }
  }
  std::vector<tosa::ValueIndex> values = all.outputs;
  return ShownTosa(TRY(tosa::Interpreter::load(std::move(all), options)), std::move(values));
}

Expected<void> ShownTosa::run(std::span<const Tensor> inputs, const ShowValue& show) const {
  const std::vector<Tensor> results = TRY(interpreter_.run(inputs));
  for (std::size_t i = 0; i < results.size(); ++i) show(values_[i], results[i]);
  return {};
}

}  // namespace isthmus::run
