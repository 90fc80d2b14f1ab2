// Tensors of quantized values, and single nodes that compute with them, for tests.
#pragma once

#include <random>
#include <vector>

#include "interpret/integer.h"
#include "ir/graph.h"

namespace isthmus::test {

// A tensor and what its elements mean.
struct QuantizedTensor {
  Tensor tensor;
  std::optional<Quant> quant = {};

  TensorType type() const { return {tensor.dtype(), {tensor.sizes().begin(), tensor.sizes().end()}, quant}; }
};

// Shapes, quantized values and parameters by chance, the same in every run.
class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}

  std::int64_t integer(std::int64_t min, std::int64_t max);
  double real(double min, double max);
  bool coin() { return integer(0, 1) == 1; }
  // Between the two, each power of two as often.
  float scale(double min, double max);
  Quant quant(float scale, DType dtype = DType::kI8);
  // Every quantized value as often.
  Tensor quantized(std::vector<std::int64_t> sizes, DType dtype = DType::kI8);
  Tensor reals(std::vector<std::int64_t> sizes, double min, double max);

 private:
  std::mt19937 random_;
};

// A graph of one node over inputs of these types; its weights, biases and parameters are constants.
Graph one_node_graph(Op op, Attrs attrs, const std::vector<QuantizedTensor>& inputs, TensorType result);

// The node's result, or an exception with the reason.
Tensor compute_quantized(const IntegerKernels& kernels, Op op, const Attrs& attrs,
                         const std::vector<QuantizedTensor>& inputs, const TensorType& result);

// Why there is no kernel for the node; the empty string where there is one.
std::string kernel_refusal(const IntegerKernels& kernels, Op op, const Attrs& attrs,
                           const std::vector<QuantizedTensor>& inputs, const TensorType& result);

// Numbers that quantized values stand for.
std::vector<double> meant(const QuantizedTensor& quantized);

}  // namespace isthmus::test
