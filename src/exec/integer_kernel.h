// The integer kernels: what they are given, and the table of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "exec/integer.h"
#include "exec/kernel.h"

namespace isthmus {

// A kernel's tensors, and what the codes in them mean.
struct IntegerContext {
  KernelContext plain;
  const Graph& graph;
  const Node& node;
  Arithmetic arithmetic;

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
  Arithmetic arithmetic;

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

// Which values of a node hold codes.
enum class Holds : std::uint8_t {
  kCodes,   // data and result
  kResult,  // the result alone
  kData,    // the data alone
};

struct IntegerKernelDef {
  Op op;
  IntegerKernel kernel;
  bool in_xnnpack = true;
  bool in_tosa = true;
  bool shares = false;  // every data input has the parameters of the result: codes are moved or compared
  Holds holds = Holds::kCodes;
  bool takes_u8 = false;             // which only stand at the border of a model
  IntegerRefusal refusal = nullptr;  // what is asked besides
};

// Null where no arithmetic has one.
const IntegerKernelDef* find_integer_kernel(Op op);

// The files of this folder, by family of ops.
std::span<const IntegerKernelDef> integer_type_kernels();
std::span<const IntegerKernelDef> integer_movement_kernels();
std::span<const IntegerKernelDef> integer_product_kernels();
std::span<const IntegerKernelDef> integer_binary_kernels();
std::span<const IntegerKernelDef> integer_unary_kernels();
std::span<const IntegerKernelDef> integer_reduce_kernels();
std::span<const IntegerKernelDef> integer_pool_kernels();
std::span<const IntegerKernelDef> integer_image_kernels();
std::span<const IntegerKernelDef> integer_softmax_kernels();
std::span<const IntegerKernelDef> integer_norm_kernels();

}  // namespace isthmus
