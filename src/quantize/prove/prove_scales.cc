// Computed again from types and constants, as the device computes them.
#include "quantize/prove/prove_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/table.h"
#include "quantize/prove/prove_parts.h"

namespace isthmus::proof {
namespace {

const Quant& quant_of(const Graph& graph, ValueId id) { return *graph.type(id).quant; }

// In f32, products first: as the device computes them, so that it sees no other side of a limit.
std::vector<float> ratios(const Graph& graph, const Node& node, RatioOf of) {
  std::vector<float> result;
  const float out = quant_of(graph, node.outputs[0]).scale();
  std::vector<float> products = {1.0F};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_data = is_data_input(node.op, i);
    const bool is_weight = !is_data && def(node.op).roles[i] == Role::kWeight;
    if ((!is_data && !is_weight) || !is_quantized(graph, node.inputs[i])) continue;
    const std::vector<float>& scales = quant_of(graph, node.inputs[i]).scales;
    if (is_data) result.push_back(scales[0] / out);
    products.resize(std::max(products.size(), scales.size()), products[0]);
    for (std::size_t c = 0; c < products.size(); ++c) products[c] *= scales[std::min(c, scales.size() - 1)];
  }
  switch (of) {
    case RatioOf::kEachInput:
      return result;
    case RatioOf::kSlopedInput: {
      const auto* attrs = std::get_if<SlopeAttrs>(&node.attrs);
      for (float& ratio : result) ratio = std::abs(ratio * static_cast<float>(attrs == nullptr ? 1 : attrs->slope));
      return result;
    }
    case RatioOf::kProduct:
      for (float& product : products) product /= out;
      return products;
  }
  return {};
}

std::vector<double> quantized_bias(const Graph& graph, const Node& node, std::size_t channels) {
  std::vector<double> result(channels, 0);
  const Constant* bias = node.inputs.size() > 2 ? graph.constant(node.inputs[2]) : nullptr;
  if (bias == nullptr || !bias->data) return result;
  const Blob bytes = contiguous_bytes(*bias->data);
  result.resize(bytes.size() / sizeof(std::int32_t));
  for (std::size_t c = 0; c < result.size(); ++c) {
    std::int32_t q = 0;
    std::memcpy(&q, bytes.bytes().data() + c * sizeof(q), sizeof(q));
    result[c] = q;
  }
  return result;
}

}  // namespace

Expected<void> keeps_ratios(const Graph& graph, const IntegerRules& rules, const Node& node) {
  if (!is_quantized(graph, node.outputs[0])) return {};
  for (const RatioLimit& limit : rules.ratios) {
    if (limit.op != node.op) continue;
    for (const float ratio : ratios(graph, node, limit.of)) {
      const bool is_legal = ratio >= limit.min && (limit.includes_max ? ratio <= limit.max : ratio < limit.max);
      if (is_legal) continue;
      std::string found = fmt::format("the ratio of scales is {}, expected {} <= ratio {} {}", ratio, limit.min,
                                      limit.includes_max ? "<=" : "<", limit.max);
      for (const ValueId id : node.inputs) {
        if (is_quantized(graph, id)) found += ", " + described(graph, id);
      }
      return broken(graph, node, limit.because, found + ", " + described(graph, node.outputs[0]));
    }
  }
  return {};
}

Expected<void> keeps_sums(const Graph& graph, const IntegerRules& rules, const Node& node) {
  const SumLimit* limit = sum_limit_of(rules, node.op);
  const Constant* weights = limit == nullptr ? nullptr : graph.constant(node.inputs[1]);
  if (weights == nullptr || !weights->data) return {};
  const Quant& from = quant_of(graph, node.inputs[0]);
  const QuantizedType& limits = *quantized_type(graph.type(node.inputs[0]).dtype);
  const auto min = static_cast<double>(limits.min - from.zero_point);
  const auto max = static_cast<double>(limits.max - from.zero_point);
  const TensorType& type = graph.type(node.inputs[1]);
  const std::size_t axis = static_cast<std::size_t>(weight_axis(node.op, node.attrs, type.shape).value_or(1));
  const auto channels = static_cast<std::size_t>(weights->data->sizes[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < type.rank(); ++i) inner *= static_cast<std::size_t>(weights->data->sizes[i]);
  std::vector<double> above(channels, 0);
  std::vector<double> below(channels, 0);
  const Blob bytes = contiguous_bytes(*weights->data);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    const auto q = static_cast<double>(static_cast<std::int8_t>(bytes.bytes()[k]));
    (q > 0 ? above : below)[k / inner % channels] += q;
  }
  const std::vector<float> scaled = ratios(graph, node, RatioOf::kProduct);
  const std::vector<double> biases = quantized_bias(graph, node, channels);
  for (std::size_t c = 0; c < biases.size(); ++c) {
    const double up = above[c % channels];
    const double down = below[c % channels];
    const double sum =
        std::max(std::abs(biases[c] + up * max + down * min), std::abs(biases[c] + up * min + down * max));
    const double ratio = static_cast<double>(scaled[std::min(c, scaled.size() - 1)]);
    if (sum <= limit->max_sum && sum * ratio <= limit->max_scaled) continue;
    return broken(graph, node, limit->because,
                  fmt::format("channel {} has sums up to {}, times {}, with a bias of {}; {}", c, sum, ratio, biases[c],
                              described(graph, node.inputs[1]) + ", " + described(graph, node.outputs[0])));
  }
  return {};
}

}  // namespace isthmus::proof
