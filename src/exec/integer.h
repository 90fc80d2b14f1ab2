// Computes quantized graphs in integers, as a device does it: the specification of every integer result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "exec/interpreter.h"

namespace isthmus {

// How integers round.
enum class Arithmetic : std::uint8_t {
  kTosa,     // TOSA 1.0: multipliers of 31 bits and shifts, half up, one rounding
  kXnnpack,  // XNNPACK on x86: products in f32, half to even, with the exceptions that its kernels make
};

// Whether the node computes with codes: one of its values is quantized.
bool is_quantized(const Graph& graph, const Node& node);

// Why there is no integer kernel for such a node (its op, the types of its codes); nothing where there is one.
std::optional<std::string> integer_refusal(const Graph& graph, const Node& node, Arithmetic arithmetic);

// The result of one node whose inputs are known. Nodes without codes are computed by the reference kernels.
Expected<Tensor> evaluate_integer_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                       const SymbolValues& symbols, Arithmetic arithmetic);

// Floats as codes of this type, i8, u8 or i16: rounded half to even in double, and clamped. NaN is 0.
Tensor codes_of(const Tensor& numbers, const TensorType& type);

// As `interpret`, for a quantized graph.
Expected<std::vector<std::optional<Tensor>>> interpret_integers(const Graph& graph, std::span<const Tensor> inputs,
                                                                Arithmetic arithmetic, const Observer& observer = {},
                                                                StateValues* states = nullptr);

}  // namespace isthmus
