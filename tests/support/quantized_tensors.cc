// Quantized values by chance, and nodes that compute with them.
#include "support/quantized_tensors.h"

#include <cmath>
#include <stdexcept>

#include "ops/table.h"

namespace isthmus::test {

std::int64_t Chance::integer(std::int64_t min, std::int64_t max) {
  const auto count = static_cast<std::uint64_t>(max - min) + 1;
  return min + static_cast<std::int64_t>((std::uint64_t{random_()} << 32 | random_()) % count);
}

double Chance::real(double min, double max) { return min + (max - min) * static_cast<double>(random_()) / 0x1p32; }

float Chance::scale(double min, double max) {
  return static_cast<float>(std::exp2(real(std::log2(min), std::log2(max))));
}

Quant Chance::quant(float scale, DType dtype) {
  if (dtype == DType::kI16) return {{scale}};
  const std::int64_t lowest = dtype == DType::kU8 ? 0 : -128;
  // The ends are where things go wrong.
  const std::int64_t zero_point = integer(0, 3) == 0 ? lowest + 255 * integer(0, 1) : lowest + integer(0, 255);
  return {{scale}, static_cast<std::int32_t>(zero_point)};
}

Tensor Chance::quantized(std::vector<std::int64_t> sizes, DType dtype) {
  Tensor tensor(dtype, std::move(sizes));
  for (std::byte& byte : tensor.mutable_bytes()) byte = static_cast<std::byte>(random_());
  return tensor;
}

Tensor Chance::reals(std::vector<std::int64_t> sizes, double min, double max) {
  Tensor tensor(DType::kF32, std::move(sizes));
  for (float& number : tensor.mutable_data<float>()) number = static_cast<float>(real(min, max));
  return tensor;
}

Graph one_node_graph(Op op, Attrs attrs, const std::vector<QuantizedTensor>& inputs, TensorType result) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const QuantizedTensor& input : inputs) {
    const std::string name = "x" + std::to_string(ids.size());
    const Role role = role_of(op, ids.size());
    const bool is_constant = role == Role::kWeight || role == Role::kBias || role == Role::kParameter;
    ids.push_back(is_constant ? graph.add_constant(name, input.type(), {{}, input.tensor.view(), {}})
                              : graph.add_input(name, input.type()));
  }
  graph.add_node(op, std::move(attrs), ids, {{"y", std::move(result)}}, {});
  return graph;
}

Tensor compute_quantized(const IntegerKernels& kernels, Op op, const Attrs& attrs,
                         const std::vector<QuantizedTensor>& inputs, const TensorType& result) {
  const Graph graph = one_node_graph(op, attrs, inputs, result);
  std::vector<Tensor> tensors;
  for (const QuantizedTensor& input : inputs) tensors.push_back(input.tensor);
  const auto node = prepare_integer_node(graph, graph.nodes()[0], kernels);
  if (!node) throw std::runtime_error(node.error().text());
  auto computed = (*node)(tensors, {});
  if (!computed) throw std::runtime_error(computed.error().text());
  return *std::move(computed);
}

std::string kernel_refusal(const IntegerKernels& kernels, Op op, const Attrs& attrs,
                           const std::vector<QuantizedTensor>& inputs, const TensorType& result) {
  const Graph graph = one_node_graph(op, attrs, inputs, result);
  const auto node = prepare_integer_node(graph, graph.nodes()[0], kernels);
  return node ? std::string() : node.error().message;
}

std::vector<double> meant(const QuantizedTensor& quantized) {
  std::vector<double> result;
  dispatch(quantized.tensor.dtype(), [&]<class Number>(Number) {
    for (const Number number : quantized.tensor.data<Number>()) {
      const auto q = static_cast<double>(number);
      result.push_back(
          quantized.quant ? (q - quantized.quant->zero_point) * static_cast<double>(quantized.quant->scale()) : q);
    }
  });
  return result;
}

}  // namespace isthmus::test
