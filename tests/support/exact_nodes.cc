// Compares nodes with the reference kernels in double.
#include "support/exact_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "interpret/evaluate.h"
#include "interpret/kernel.h"
#include "interpret/quantized_types.h"

namespace isthmus::test {
namespace {

// What the numbers of a tensor mean: a scale for each slice of an axis, or one.
Tensor meant_by(const Tensor& tensor, const std::optional<Quant>& quant) {
  Tensor result(DType::kF64, tensor.sizes());
  std::size_t inner = 1;
  if (quant && quant->axis >= 0) {
    for (std::int64_t i = quant->axis + 1; i < tensor.rank(); ++i) inner *= static_cast<std::size_t>(tensor.size(i));
  }
  dispatch(tensor.dtype(), [&]<class Number>(Number) {
    const auto numbers = tensor.data<Number>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      double number = static_cast<double>(numbers[i]);
      if (quant) {
        number = (number - quant->zero_point) * static_cast<double>(quant->scales[i / inner % quant->scales.size()]);
      }
      result.mutable_data<double>()[i] = number;
    }
  });
  return result;
}

bool is_compared(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kMinimum:
    case Op::kMaximum:
    case Op::kRescale:
    case Op::kConv2d:
    case Op::kConvTranspose2d:
    case Op::kLinear:
    case Op::kMatmul:
    case Op::kSum:
    case Op::kMean:
    case Op::kAvgPool2d:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLayerNorm:
      return true;
    default:
      return false;
  }
}

double max_distance(const Graph& graph, const Node& node) {
  const TensorType& result = graph.type(node.outputs[0]);
  // A multiplier of 15 bits is off by up to 2^-15: by a step of 32768.
  double max = result.dtype == DType::kI16 ? 1.6 : 0.6;
  for (const ValueId input : node.inputs) {
    const TensorType& type = graph.type(input);
    if (!type.quant || type.quant->axis >= 0) continue;
    const double unit = std::ldexp(static_cast<double>(type.quant->scale()), type.dtype == DType::kI16 ? -11 : -19);
    max += 2 * unit / static_cast<double>(result.quant->scale());
  }
  return max;
}

}  // namespace

std::string inexact_node(const Graph& graph, const std::map<ValueId, Tensor>& values) {
  for (const Node& node : graph.nodes()) {
    const TensorType& type = graph.type(node.outputs[0]);
    if (!type.quant || !is_compared(node.op)) continue;
    std::vector<Tensor> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(meant_by(values.at(id), graph.type(id).quant));
    const Tensor& quantized = values.at(node.outputs[0]);
    const std::string name = graph[node.outputs[0]].name;
    const auto exact = node.op == Op::kRescale
                           ? Expected<Tensor>(inputs[0])
                           : run_kernel(node.op, {inputs, node.attrs, DType::kF64, quantized.sizes()});
    if (!exact) return fmt::format("{} in double: {}", name, exact.error().text());
    const double max = max_distance(graph, node);
    const QuantizedRange range = quantized_range(type.dtype);
    const auto found = meant_by(quantized, std::nullopt);
    for (std::size_t i = 0; i < found.data<double>().size(); ++i) {
      const double q = exact->data<double>()[i] / static_cast<double>(type.quant->scale()) + type.quant->zero_point;
      const double bounded = std::clamp<double>(q, range.min, range.max);
      const double distance = std::abs(bounded - found.data<double>()[i]);
      if (distance <= max) continue;
      return fmt::format("{} %{} is {} steps from what double computes, at most {}", name_of(node.op), name, distance,
                         max);
    }
  }
  return {};
}

}  // namespace isthmus::test
