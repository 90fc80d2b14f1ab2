// Steps of the plan's scales, carried to the outputs.
#include "quantize/widths/node_noise.h"

#include "ops/table.h"
#include "quantize/config/pins.h"
#include "quantize/config/ranges.h"
#include "quantize/plan/front.h"
#include "quantize/widths/noise.h"

namespace isthmus {

std::vector<double> node_noise(const Graph& graph, const QuantPlan& plan, const Statistics& statistics) {
  // A noise model looks at moments alone, which no setting changes.
  const std::vector<NodeSettings> settings(graph.nodes().size());
  const std::vector<DType> storage(graph.values().size(), DType::kI8);
  Ranges ranges(graph, &statistics, settings, storage, Pins());
  const NoiseModel model = NoiseModel::of(graph, ranges);
  std::vector<NoiseModel::Powers> noise(graph.nodes().size(), NoiseModel::Powers(model.outputs(), 0.0));
  NoiseModel::Powers all(model.outputs(), 0.0);
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.op == Op::kForeign || node.outputs.empty() || plan.precision[n] == Precision::kFloat) continue;
    const Group* group = plan.group(node.outputs[0]);
    const double step =
        group == nullptr || plan.precision[n] != Precision::kQuantized ? 0 : static_cast<double>(group->quant.scale());
    const double made = step * step / 12 + (has_weights(node.op) ? model.of_weights(NodeId{n}) : 0);
    for (std::size_t o = 0; o < all.size(); ++o) {
      noise[n][o] = made * model.of_value(node.outputs[0])[o];
      all[o] += noise[n][o];
    }
  }
  std::vector<double> shares(noise.size(), 0.0);
  for (std::size_t n = 0; n < noise.size(); ++n) {
    for (std::size_t o = 0; o < all.size(); ++o) shares[n] += all[o] > 0 ? noise[n][o] / all[o] : 0;
  }
  return shares;
}

}  // namespace isthmus
