// What a legalized node is in TOSA: one row an op. The same rows say which operators a node would become, with types
// and shapes alone, and write them: what is decided on and what is emitted cannot differ.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/expected.h"
#include "base/reason.h"
#include "ir/graph.h"
#include "targets/ethos_u/device.h"
#include "targets/ethos_u/forms/builder.h"
#include "targets/integers.h"
#include "targets/layout.h"

namespace isthmus::ethos_u {

// A node and what is known of it: quantized, or still in float, with quantized values of these types in their place.
struct NodeForm {
  const Graph& graph;
  const Node& node;
  QuantizedTypes types;
  Device device;

  // Types as the device has them; those of floats have a scale of one until they are quantized.
  TensorType type(ValueId id) const;
  TensorType type(std::size_t i) const { return type(node.inputs[i]); }
  TensorType type() const { return type(node.outputs[0]); }
  Ints sizes(std::size_t i) const;
  Ints sizes() const;
  bool is_constant(std::size_t i) const { return graph.constant(node.inputs[i]) != nullptr; }
  template <class A>
  const A& attrs() const {
    return std::get<A>(node.attrs);
  }
};

// The node on its way into a TOSA graph.
struct NodeLowering : NodeForm {
  TosaBuilder& out;
  std::vector<Operand> inputs;  // in the order in which they are read; constants that are packed are not among them
  std::vector<Order> reads;
  Order order;             // in which the result is to be made
  std::int64_t parts = 1;  // in which rows are computed, where the form computes row by row: more need less memory

  tosa::Type result_type() const;
  Ints result_shape() const;  // in the order of memory
  // The place of a logical axis in memory.
  std::int64_t place(std::int64_t axis) const;
  // A list of numbers for each axis, in the order of memory.
  Ints placed(const Ints& by_axis) const;
  // The data of a constant input as doubles, its axes in this order; nothing where constants are left out.
  std::vector<std::int64_t> integers(std::size_t i, const Order& axes) const;
  // A constant input with its axes in this order, then of this shape.
  Operand constant(std::size_t i, tosa::Type type, const Order& axes, Ints shape) const;
};

// Writes the operators of a node.
using Lower = Expected<Operand> (*)(NodeLowering& lowering);

// What a node costs, in cycles, that is written in this way from inputs of the same types and shapes. Infinite where
// the device refuses it, and 0 where nothing is known of the device.
double cycles_of(const NodeLowering& lowering, Lower way);
// In that one of two ways, which give the same numbers, that costs less; the first where both cost the same.
Expected<Operand> cheaper(NodeLowering& lowering, Lower first, Lower second);

struct FormRow {
  Op op;
  tosa::Op core;  // the operator that no form of it does without
  // What the form asks of the order of its values.
  OrderDemand (*order)(const Graph& graph, const Node& node);
  // Why this node has no such form, besides what all nodes are asked; null: nothing more is asked.
  std::optional<Reason> (*refusal)(const NodeForm& form) = nullptr;
  Lower lower;
  bool has_bounds = false;  // ends in a RESCALE, which a CLAMP may follow
  WideReads wide_reads = WideReads::kNever;
  bool reads_bools = false;  // what it computes with are bools, else quantized numbers
  bool is_by_row = false;    // can be computed in parts
};

// Null where the op has no form in TOSA.
const FormRow* find_form(Op op);

// Why the node has no form at all; nothing where it has one, whatever the device makes of it.
std::optional<Reason> form_refusal(const NodeForm& form);

// In which order the node reads its ordered inputs and makes its result where nothing else is known.
Order usual_order(const OrderDemand& demand, std::size_t rank);

// A tensor, and an operator on tensors. Zero points, multipliers and tables have no part in any limit.
struct TosaTensor {
  tosa::Type type = tosa::Type::kI8;
  Ints shape;
  bool operator==(const TosaTensor&) const = default;
};
struct TosaForm {
  tosa::Op op;
  std::vector<TosaTensor> inputs;
  TosaTensor output;
  Ints kernel = {}, stride = {}, dilation = {};  // [y, x]
  Ints pad = {};                                 // [top, bottom, left, right]; out_pad of TRANSPOSE_CONV2D
  std::int64_t axis = 0;
  bool rounds = true;                         // ARITHMETIC_RIGHT_SHIFT
  bool is_bilinear = false;                   // RESIZE, as the three below
  Ints scale = {}, offset = {}, border = {};  // [n y, d y, n x, d x], [y, x], [y, x]
};
TosaForm form_of(const tosa::Graph& graph, const tosa::Operator& op);

// The operators that the node becomes, whatever the device makes of them; or why it has no form at all. Pure and cheap:
// planner, partition and legalize all ask it.
using Forms = tl::expected<std::vector<TosaForm>, Reason>;
Forms forms(const Graph& graph, const Node& node, QuantizedTypes types, Device device);
// The same of a node that has a form, whose ordered inputs and result lie in these orders.
Forms forms(const Graph& graph, const Node& node, QuantizedTypes types, Device device, std::span<const Order> reads,
            const Order& order);

// The graph of the same operators, without the contents of constants.
tl::expected<tosa::Graph, Reason> form_graph(const Graph& graph, const Node& node, QuantizedTypes types, Device device,
                                             std::int64_t parts = 1);

// The element type in TOSA; unknown where it has none.
tosa::Type tosa_type(DType dtype);
// "[1,5,6,4]"
std::string numbers_text(const Ints& numbers);

}  // namespace isthmus::ethos_u
