// Tables of integer kernels, which devices make: what a kernel is given, and what a row says of its op.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "interpret/integer.h"
#include "interpret/kernel.h"

namespace isthmus {

// A kernel's tensors, and what the quantized values in them mean.
struct IntegerContext {
  KernelContext plain;
  const Graph& graph;
  const Node& node;

  const Tensor& input(std::size_t i) const { return plain.inputs[i]; }
  bool has_input(std::size_t i) const { return i < plain.inputs.size(); }
  const TensorType& type(std::size_t i) const { return graph.type(node.inputs[i]); }
  const TensorType& type() const { return graph.type(node.outputs[0]); }
  const Quant& quant(std::size_t i) const { return *type(i).quant; }
  const Quant& quant() const { return *type().quant; }
  template <class A>
  const A& as() const {
    return plain.as<A>();
  }
};
using IntegerKernel = Expected<Tensor> (*)(const IntegerContext&);

// A node whose kernel is asked for; of its numbers only the types are known.
struct IntegerSite {
  const Graph& graph;
  const Node& node;

  const TensorType& type(std::size_t i) const { return graph.type(node.inputs[i]); }
  const TensorType& type() const { return graph.type(node.outputs[0]); }
  const Quant& quant(std::size_t i) const { return *type(i).quant; }
  const Quant& quant() const { return *type().quant; }
  template <class A>
  const A& as() const {
    return std::get<A>(node.attrs);
  }
};
using IntegerRefusal = std::optional<std::string> (*)(const IntegerSite&);

// Which values of a node hold quantized values. A result of bool never does.
enum class Holds : std::uint8_t {
  kQuantized,  // data and result
  kResult,     // the result alone
  kData,       // the data alone
  kEither,     // data and result, or neither of them: only the weights
};

struct IntegerKernelRow {
  Op op;
  IntegerKernel kernel = nullptr;
  // In its place, where more than checks can be done before the node runs.
  Expected<IntegerNode> (*prepare)(const Graph& graph, const Node& node) = nullptr;
  bool shares = false;  // every data input has the parameters of the result: quantized values are moved or compared
  Holds holds = Holds::kQuantized;
  bool takes_u8 = false;             // which only stand as inputs and outputs of a model
  IntegerRefusal refusal = nullptr;  // what is asked besides
};

class IntegerKernels {
 public:
  enum class Widths : std::uint8_t {
    k8,       // 8 bits alone
    k8And16,  // those of 16 bits have no zero point
  };
  // One row an op at most.
  IntegerKernels(Widths widths, std::initializer_list<std::span<const IntegerKernelRow>> families);

  // See prepare_integer_node; the node computes on quantized values.
  Expected<IntegerNode> prepare(const Graph& graph, const Node& node) const;

 private:
  std::optional<std::string> refusal(const Graph& graph, const Node& node) const;

  Widths widths_;
  std::array<std::optional<IntegerKernelRow>, kOpCount> rows_;
};

// Rows that every device has: quantized values that move or that are compared with quantized values of one scale, and
// conversions between floats and quantized values, which the host computes.
std::span<const IntegerKernelRow> common_integer_kernels();

}  // namespace isthmus
