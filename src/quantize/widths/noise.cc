// Gains of nodes, multiplied from the outputs back to the inputs.
#include "quantize/widths/noise.h"

#include <algorithm>
#include <cmath>

#include "interpret/tensor.h"
#include "ops/table.h"
#include "quantize/plan/elements.h"
#include "quantize/plan/front.h"
#include "targets/integers.h"

namespace isthmus {
namespace {

struct Spread {
  double power = 0;  // mean square
  double variance = 0;
};

// Nothing of what is never seen, before a clamp that is part of the node before it.
Spread spread_of(Ranges& ranges, ValueId id) {
  const ValueStatistics* statistics = ranges.find_statistics(id);
  if (statistics == nullptr) return Spread{};
  const Moments& moments = statistics->moments;
  if (moments.count == 0) return Spread{};
  return Spread{moments.sum_of_squares.value() / static_cast<double>(moments.count), moments.variance()};
}

double ratio(double a, double b) { return b > 0 ? a / b : 0; }
double count_of(const Graph& graph, ValueId id) { return static_cast<double>(elements_of(graph, id)); }

// What layers do to noise in their input, and what rounding their weights adds to their result for each unit of the
// input's power: both on average over the channels.
struct LayerNoise {
  double gain = 0;
  double of_weights = 0;
};
LayerNoise layer_noise(const Graph& graph, const Node& node) {
  const Constant* constant = graph.constant(node.inputs[1]);
  if (constant == nullptr || !constant->data || constant->data->dtype != DType::kF32) return {1, 0};
  constexpr double kQuantMax = 127;
  const Tensor data = Tensor::from(*constant->data);
  const auto channels = static_cast<std::size_t>(data.rank() > 0 ? std::max<std::int64_t>(data.size(0), 1) : 1);
  const std::size_t length = data.data<float>().size() / channels;
  LayerNoise result;
  for (std::size_t c = 0; c < channels; ++c) {
    double max = 0;
    for (const float weight : data.data<float>().subspan(c * length, length)) {
      result.gain += static_cast<double>(weight) * static_cast<double>(weight);
      max = std::max(max, std::abs(static_cast<double>(weight)));
    }
    result.of_weights += max / kQuantMax * max / kQuantMax / 12 * static_cast<double>(length);
  }
  return {result.gain / static_cast<double>(channels), result.of_weights / static_cast<double>(channels)};
}

// Where numbers are cut off, their noise goes with them. What a relu cuts off is 0.
double narrowed_gain(Ranges& ranges, const Node& node, const Spread& in, const Spread& out) {
  const auto* clamp = std::get_if<ClampAttrs>(&node.attrs);
  const ValueStatistics* statistics = ranges.find_statistics(node.outputs[0]);
  if (clamp != nullptr && clamp->min == 0 && statistics != nullptr && statistics->histogram.count() > 0) {
    const Histogram& histogram = statistics->histogram;
    return 1 - ratio(static_cast<double>(histogram.zeros), static_cast<double>(histogram.count()));
  }
  return in.variance > 0 ? std::min(out.variance / in.variance, 1.0) : 0.5;
}

// Of another op: noise in the result over noise in one of its inputs.
double gain_of(const Graph& graph, Ranges& ranges, const Node& node, std::size_t input) {
  const double read = count_of(graph, node.inputs[input]);
  const double made = count_of(graph, node.outputs[0]);
  const OpDef& row = def(node.op);
  if (row.flow == QFlow::kJoinsInputs) return std::min(1.0, ratio(read, made));
  if (row.flow == QFlow::kMovesData || row.flow == QFlow::kPins) return 1.0;
  const Spread in = spread_of(ranges, node.inputs[input]);
  const Spread out = spread_of(ranges, node.outputs[0]);
  if (row.flow == QFlow::kNarrowsRange) return narrowed_gain(ranges, node, in, out);
  double other = 1;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i != input && is_data_input(node.op, i)) other *= spread_of(ranges, node.inputs[i]).power;
  }
  switch (row.noise) {
    case NoiseFlow::kAdds:
      return 1.0;
    case NoiseFlow::kMultiplies:
      return other;
    case NoiseFlow::kSumsProducts: {
      const Shape& shape = graph.type(node.inputs[0]).shape;
      const bool is_known = !shape.empty() && shape.back().is_fixed();
      return other * (is_known ? static_cast<double>(shape.back().value()) : 1);
    }
    case NoiseFlow::kSums:
      return ratio(read, made);
    case NoiseFlow::kAverages:
      return ratio(made, read);
    case NoiseFlow::kShares:
      return out.power;
    case NoiseFlow::kOfVariance:
      break;
  }
  return in.variance > 0 ? out.variance / in.variance : 1;
}

}  // namespace

NoiseModel NoiseModel::of(const Graph& graph, Ranges& ranges) {
  // Of thousands of sums one after the other: more noise than that tells nothing, and must not become infinite.
  constexpr double kMax = 1e60;
  std::vector<ValueId> outputs;
  for (const Output& output : graph.outputs()) {
    const auto* id = std::get_if<ValueId>(&output.value);
    if (id != nullptr && graph.type(*id).dtype == DType::kF32) outputs.push_back(*id);
  }
  const std::size_t count = outputs.size();
  NoiseModel model;
  model.of_value_.assign(graph.values().size(), Powers(count, 0.0));
  model.of_read_.resize(graph.nodes().size());
  model.of_layer_.assign(graph.nodes().size(), 0.0);
  model.of_weights_.assign(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    model.of_value_[outputs[i].index][i] += ratio(1, spread_of(ranges, outputs[i]).power);
  }
  for (std::size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    model.of_read_[n].assign(node.inputs.size(), Powers(count, 0.0));
    if (node.op == Op::kForeign || node.outputs.empty() || graph.type(node.outputs[0]).dtype != DType::kF32) continue;
    const Powers of_result = model.of_value_[node.outputs[0].index];
    const LayerNoise layer = has_weights(node.op) ? layer_noise(graph, node) : LayerNoise{};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!is_data_input(node.op, i) || graph.type(input).dtype != DType::kF32) continue;
      const double gain = has_weights(node.op) ? layer.gain : gain_of(graph, ranges, node, i);
      const double of_weights = layer.of_weights * (layer.of_weights > 0 ? spread_of(ranges, input).power : 0);
      model.of_layer_[n] += of_weights;
      for (std::size_t o = 0; o < count; ++o) {
        const double here = std::min(gain * of_result[o], kMax);
        model.of_read_[n][i][o] = here;
        model.of_value_[input.index][o] = std::min(model.of_value_[input.index][o] + here, kMax);
        model.of_weights_[o] = std::min(model.of_weights_[o] + of_weights * of_result[o], kMax);
      }
    }
  }
  return model;
}

}  // namespace isthmus
