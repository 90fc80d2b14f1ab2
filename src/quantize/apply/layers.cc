// Options of a layer come from the plan, the statistics and the configuration.
#include "quantize/apply/layers.h"

#include <algorithm>
#include <cmath>

#include "ir/quantized.h"
#include "ops/table.h"
#include "quantize/apply/zeros.h"

namespace isthmus {
namespace {

Shape shape_of(const TensorView& view) { return {view.sizes.begin(), view.sizes.end()}; }

}  // namespace

void LayerWriter::add_rows(const Node& node, std::vector<ValueId>& inputs) {
  const Graph& graph = in_.graph;
  const ValueId weight = node.inputs[1];
  const Constant& weights = *graph.constant(weight);
  const std::int32_t axis = weight_axis(node.op, node.attrs, graph.type(weight).shape).value_or(0);
  const std::string name = out_.unused_name(graph[weight].name + ".quantized");
  if (!in_.plan.has_ranges) {
    const auto channels = static_cast<std::size_t>(graph.type(weight).shape[0].value());
    const Quant quant{std::vector<float>(channels, 1.0F), 0, axis};
    inputs.push_back(out_.add_constant(name, {DType::kI8, graph.type(weight).shape, quant}, without_data(weights)));
    return;
  }
  const LayerOptions options = layer_options(node, true, DType::kI8);
  const QuantizedLayer layer = quantized(node, 1, options);
  inputs.push_back(out_.add_constant(name, {DType::kI8, graph.type(weight).shape, layer.weight_quant},
                                     Constant{weights.fqn, layer.weights, std::nullopt}));
  if (node.inputs.size() > 2 || options.input_means) {
    inputs.push_back(out_.add_constant(out_.unused_name(graph[weight].name + ".bias"), layer.float_bias));
  }
}

void LayerWriter::add_shapes_only(const Node& node, std::vector<ValueId>& inputs) {
  const Graph& graph = in_.graph;
  const ValueId weight = node.inputs[1];
  inputs.push_back(out_.add_constant(out_.unused_name(graph[weight].name + ".quantized"),
                                     {DType::kI8, graph.type(weight).shape, Quant{{1.0F}, 0, -1}},
                                     without_data(*graph.constant(weight))));
  if (node.inputs.size() <= 2) return;
  const ValueId bias = node.inputs[2];
  const Quant quant{{bias_scale(out_.type(inputs[0]).quant->scale(), 1.0F)}, 0, -1};
  inputs.push_back(out_.add_constant(out_.unused_name(graph[bias].name + ".quantized"),
                                     {DType::kI32, graph.type(bias).shape, quant},
                                     without_data(*graph.constant(bias))));
}

void LayerWriter::add_quantized(const Node& node, bool per_channel, std::vector<ValueId>& inputs) {
  if (!in_.plan.has_ranges) {
    add_shapes_only(node, inputs);
    return;
  }
  const Graph& graph = in_.graph;
  const ValueId weight = node.inputs[1];
  const Constant& weights = *graph.constant(weight);
  const bool has_axis = weight_axis(node.op, node.attrs, graph.type(weight).shape).has_value();
  const std::string weight_name = out_.unused_name(graph[weight].name + ".quantized");
  LayerOptions options = layer_options(node, per_channel && has_axis, out_.type(inputs[0]).dtype);
  options.result_scale = in_.plan.group(node.outputs[0])->quant.scale();
  const QuantizedLayer layer = quantized(node, out_.type(inputs[0]).quant->scale(), options);
  inputs.push_back(out_.add_constant(weight_name, {DType::kI8, shape_of(layer.weights), layer.weight_quant},
                                     Constant{weights.fqn, layer.weights, std::nullopt}));
  const std::string bias_name = node.inputs.size() > 2 ? graph[node.inputs[2]].name : graph[weight].name + ".bias";
  inputs.push_back(out_.add_constant(out_.unused_name(bias_name + ".quantized"),
                                     {DType::kI32, shape_of(layer.bias), layer.bias_quant},
                                     Constant{{}, layer.bias, std::nullopt}));
}

QuantizedLayer LayerWriter::quantized(const Node& node, float input_scale, const LayerOptions& options) const {
  const TensorView& weights = *in_.graph.constant(node.inputs[1])->data;
  const TensorView* bias = node.inputs.size() > 2 ? &*in_.graph.constant(node.inputs[2])->data : nullptr;
  if (in_.cache == nullptr) return quantize_layer(node, weights, bias, input_scale, options);
  return in_.cache->get(in_.graph[node.outputs[0]].name, node, weights, bias, input_scale, options);
}

LayerOptions LayerWriter::layer_options(const Node& node, bool per_channel, DType input) const {
  const bool is_corrected = in_.config.bias_correction != BiasCorrection::kOff;
  const SumLimit* sums = input == DType::kI8 ? sum_limit_of(in_.target.integers, node.op) : nullptr;
  LayerOptions options{.per_channel = per_channel,
                       .least_squares = in_.config.mse_weights,
                       .input_means = is_corrected ? means_of(node) : std::nullopt,
                       .moments = moments_of(node),
                       .sums = sums};
  if (!options.input_means) return options;
  options.keeps_zeros = makes_zeros(in_.graph, node, *in_.statistics);
  if (options.keeps_zeros && node.inputs.size() <= 2) options.input_means.reset();
  return options;
}

const LayerMoments* LayerWriter::moments_of(const Node& node) const {
  if (in_.moments == nullptr || !in_.config.rounds_together) return nullptr;
  const auto found = in_.moments->find(in_.graph[node.outputs[0]].name);
  return found == in_.moments->end() || found->second.rows == 0 ? nullptr : &found->second;
}

std::optional<std::vector<double>> LayerWriter::means_of(const Node& node) const {
  if (in_.statistics == nullptr) return std::nullopt;
  const auto found = in_.statistics->values.find(in_.graph[node.inputs[0]].name);
  if (found == in_.statistics->values.end()) return std::nullopt;
  const auto rank = static_cast<std::uint32_t>(in_.graph.type(node.inputs[0]).rank());
  const auto axis = static_cast<std::uint32_t>(channel_axis(node.op, rank));
  const auto channels = found->second.channels.find(axis);
  if (channels == found->second.channels.end() || channels->second.count == 0) return std::nullopt;
  const Moments& moments = found->second.moments;
  if (moments.count == 0) return std::nullopt;  // no number of it was finite
  // In steps of about those that the quantized values have, which is much more than two CPUs differ by.
  const float largest = std::max(std::abs(moments.min), std::abs(moments.max));
  const double step = largest > 0 ? std::ldexp(1.0, std::ilogb(largest) - 8) : 1;
  const double trust = trust_in_means(moments, channels->second);
  std::vector<double> means;
  for (const ExactSum& sum : channels->second.sum) {
    means.push_back(std::nearbyint(trust * sum.value() / static_cast<double>(channels->second.count) / step) * step);
  }
  return means;
}

}  // namespace isthmus
