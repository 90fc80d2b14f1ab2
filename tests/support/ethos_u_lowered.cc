// Runs segments both ways.
#include "support/ethos_u_lowered.h"

#include <map>

#include "engines/xnnpack/thread_pool.h"
#include "interpret/integer.h"
#include "support/exact_nodes.h"
#include "support/models.h"
#include "targets/ethos_u/integer_kernels.h"
#include "targets/ethos_u/lower.h"
#include "targets/tosa/interpreter.h"

namespace isthmus::test {

Expected<QuantizedModel> quantized_for(const Prepared& prepared, const TargetDesc& target, Samples& samples,
                                       const QuantConfig& config) {
  Diagnostics diagnostics;
  const xnnpack::ThreadPool threads(1);
  const Statistics statistics = TRY(calibrate(prepared, samples, threads, {}, diagnostics));
  return quantize(prepared, target, &statistics, config, diagnostics);
}

std::string segments_problem(const QuantizedModel& model, ethos_u::Device device, std::span<const Tensor> inputs,
                             OperatorCounts& counts) {
  const Graph& graph = model.quantized.graph;
  std::map<ValueId, Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  const auto all = interpret_integers(graph, inputs, ethos_u::integer_kernels(device),
                                      [&](ValueId id, const Tensor& value) { values[id] = value; });
  if (!all) return "integers: " + all.error().text();
  if (std::string problem = inexact_node(graph, values); !problem.empty()) return problem;
  for (const Segment& segment : model.partitioning.segments) {
    auto lowered = ethos_u::lower_segment(graph, segment, device);
    if (!lowered) return "lower: " + lowered.error().text();
    const auto read = tosa::read_graph(lowered->delegate.blob);
    if (!read) return "read: " + read.error().text();
    for (const tosa::Operator& op : read->operators) ++counts[std::string(name_of(op.op))];
    const auto loaded = tosa::Interpreter::load(*read);
    if (!loaded) return "load: " + loaded.error().text();
    std::vector<Tensor> arguments;
    for (const ValueId id : segment.inputs) arguments.push_back(values.at(id));
    const auto results = loaded->run(arguments);
    if (!results) return "run: " + results.error().text();
    for (std::size_t i = 0; i < segment.outputs.size(); ++i) {
      const Difference gap = difference((*results)[i], values.at(segment.outputs[i]));
      if (gap.max != 0) return graph[segment.outputs[i]].name + " differs by " + std::to_string(gap.max) + gap.why;
    }
  }
  return {};
}

std::string lowered_problem(const QuantizedModel& model, ethos_u::Device device, std::span<const Tensor> inputs) {
  if (model.partitioning.segments.size() != 1) {
    return std::to_string(model.partitioning.segments.size()) + " segments";
  }
  OperatorCounts counts;
  return segments_problem(model, device, inputs, counts);
}

}  // namespace isthmus::test
