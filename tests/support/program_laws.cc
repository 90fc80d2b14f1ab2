// From a random graph to the values inside of its delegates.
#include "support/program_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "interpret/integer.h"
#include "ir/text.h"
#include "support/compile_quantized.h"
#include "support/models.h"
#include "support/node_gaps.h"
#include "support/random_device_model.h"
#include "support/random_quant_model.h"
#include "targets/registry.h"
#include "targets/target.h"

namespace isthmus::test {
namespace {

// Every op of the devices in one half of the seeds, larger graphs of layers, sums and joins in the other.
std::pair<Graph, std::vector<Tensor>> random_graph(RandomSeed seed) {
  if (seed % 2 == 0) {
    RandomDeviceModel model(seed);
    Graph graph = model.make();
    std::vector<Tensor> inputs = model.inputs(graph);
    return {std::move(graph), std::move(inputs)};
  }
  RandomQuantModel model(seed, seed % 3 == 0 ? Widths::kWild : Widths::kTame);
  Graph graph = model.make();
  std::vector<Tensor> inputs = model.inputs(graph);
  return {std::move(graph), std::move(inputs)};
}

// Between the conversions at its ends the graph has no float, whose last bits may differ.
bool is_all_quantized(const Graph& graph) {
  return std::ranges::all_of(graph.nodes(), [&](const Node& node) {
    if (node.op == Op::kQuantize || node.op == Op::kDequantize) return true;
    return std::ranges::none_of(node.outputs, [&](ValueId id) { return graph.type(id).dtype == DType::kF32; });
  });
}

}  // namespace

std::string broken_program_law(RandomSeed seed) {
  const auto [model, inputs] = random_graph(seed);
  if (model.outputs().empty()) return {};
  const TargetDesc& target = *find_target("xnnpack");
  QuantConfig config;
  if (seed % 5 < 2) config.front = config.widen = 0;
  if (seed % 7 == 0) config.inputs = IoType::kInt8;
  const auto program = quantize_graph(model, {inputs}, config, true, target.name);
  if (!program) {
    if (program.error().kind == ErrorKind::kUnsupported) return {};
    return "compile: " + program.error().text() + "\n" + print(model);
  }
  const Graph& graph = program->model.quantized.graph;
  const auto broken = [&](const std::string& how) { return how + "\n" + print(graph); };

  std::vector<Tensor> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    given.push_back(type.quant && inputs[i].dtype() == DType::kF32 ? quantized_tensor(inputs[i], type) : inputs[i]);
  }
  Values values;
  for (std::size_t i = 0; i < given.size(); ++i) values[graph.inputs()[i]] = given[i];
  const auto expected = interpret_integers(graph, given, *target.integers.kernels,
                                           [&](ValueId id, const Tensor& value) { values[id] = value; });
  if (!expected) return broken("integers: " + expected.error().text());
  const auto symbols = bind_symbols(graph, given);
  if (!symbols) return broken("symbols: " + symbols.error().text());
  for (const Segment& segment : program->model.partitioning.segments) {
    std::vector<Tensor> arguments;
    for (const ValueId id : segment.inputs) arguments.push_back(values.at(id));
    auto shown = tapped_values(graph, segment, arguments);
    if (!shown) return broken("delegate: " + shown.error().text());
    for (std::size_t i = 0; i < arguments.size(); ++i) shown->try_emplace(segment.inputs[i], arguments[i]);
    Gaps gaps;
    if (const auto done = compare_nodes(graph, segment.nodes, *symbols, *shown, gaps); !done) {
      return broken("nodes: " + done.error().text());
    }
    for (const auto& [kind, gap] : gaps) {
      if (kind.starts_with("quantized") && gap.max > 0) {
        return broken(fmt::format("{} %{} differs by {}", kind, gap.worst, gap.max));
      }
    }
  }
  const auto found = run_program(*program, given);
  if (!found) return broken("run: " + found.error().text());
  if (found->size() != expected->size()) return broken("another number of results");
  if (!is_all_quantized(graph)) return {};
  for (std::size_t i = 0; i < expected->size(); ++i) {
    const Difference gap = difference(*(*found)[i], *(*expected)[i]);
    if (gap.max != 0) return broken(fmt::format("result {} differs by {}{}", i, gap.max, gap.why));
  }
  return {};
}

}  // namespace isthmus::test
