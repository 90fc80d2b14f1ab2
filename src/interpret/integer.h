// Computes quantized graphs in integers, as a device does it: the specification of every integer result.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "interpret/interpreter.h"

namespace isthmus {

// The kernels of a device: see integer_kernel.h.
class IntegerKernels;

// A node that is ready to run with any inputs: it was checked, and what depends on constants alone is computed.
using IntegerNode = std::function<Expected<Tensor>(std::span<const Tensor> inputs, const SymbolValues& symbols)>;

// Fails with the reason where there is no kernel for such a node (its op, the types of its quantized values). Nodes
// without quantized values are computed by the reference kernels. What it returns refers to graph and node.
Expected<IntegerNode> prepare_integer_node(const Graph& graph, const Node& node, const IntegerKernels& kernels);

// Floats quantized to this type, i8, u8 or i16: rounded half to even in double, and clamped. NaN is 0.
Tensor quantized_tensor(const Tensor& numbers, const TensorType& type);

// Runs a quantized graph on any number of samples; each node is prepared when it is first met.
class IntegerInterpreter {
 public:
  // Refers to both.
  IntegerInterpreter(const Graph& graph, const IntegerKernels& kernels);

  // As `interpret`. Several runs may go on at once.
  Expected<std::vector<std::optional<Tensor>>> run(std::span<const Tensor> inputs, const Observer& observer = {},
                                                   StateValues* states = nullptr);

 private:
  Expected<const IntegerNode*> prepared(const Node& node);

  const Graph& graph_;
  const IntegerKernels& kernels_;
  std::mutex mutex_;                // guards what follows
  std::vector<IntegerNode> nodes_;  // empty: not yet met
};

// The same of one sample.
Expected<std::vector<std::optional<Tensor>>> interpret_integers(const Graph& graph, std::span<const Tensor> inputs,
                                                                const IntegerKernels& kernels,
                                                                const Observer& observer = {},
                                                                StateValues* states = nullptr);

}  // namespace isthmus
