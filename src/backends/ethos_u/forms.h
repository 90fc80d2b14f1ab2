// What a legalized node is in TOSA: the operators, with shapes and types, that it becomes. Pure and cheap, and no bytes
// are written: planner, partition and lowering all decide on what would be emitted.
#pragma once

#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "backends/ethos_u/device.h"
#include "backends/ethos_u/tosa_names.h"
#include "base/reason.h"
#include "ir/graph.h"

namespace isthmus::ethos_u {

struct TosaTensor {
  tosa::Type type = tosa::Type::kI8;
  Ints shape;
  bool operator==(const TosaTensor&) const = default;
};

// One operator. Zero points, multipliers, tables and the like have no part in any limit and are left out.
struct TosaForm {
  tosa::Op op;
  std::vector<TosaTensor> inputs;
  TosaTensor output;
  Ints kernel = {}, stride = {}, dilation = {};  // [y, x]
  Ints pad = {};                                 // [top, bottom, left, right]; out_pad of TRANSPOSE_CONV2D
  Ints perms = {};
  std::int64_t axis = 0;
  bool rounds = true;                         // ARITHMETIC_RIGHT_SHIFT
  bool is_bilinear = false;                   // RESIZE, as the three below
  Ints scale = {}, offset = {}, border = {};  // [n y, d y, n x, d x], [y, x], [y, x]
};

// Nothing of a node where it has no such form.
using Forms = tl::expected<std::vector<TosaForm>, Reason>;

// What a form is made from: the node with its data as codes of `storage`, whether it is still in float or not.
struct FormContext {
  const Graph& graph;
  const Node& node;
  DType storage;
  Device device;

  // The element type and the shape of a value; only fixed sizes come here.
  tosa::Type type(ValueId id) const;
  Ints shape(ValueId id) const;
  TosaTensor tensor(ValueId id) const { return {type(id), shape(id)}; }
  TosaTensor input(std::size_t i = 0) const { return tensor(node.inputs[i]); }
  TosaTensor result() const { return tensor(node.outputs[0]); }
  bool is_constant(std::size_t i) const { return graph.constant(node.inputs[i]) != nullptr; }
  template <class A>
  const A& attrs() const {
    return std::get<A>(node.attrs);
  }
};

struct FormRow {
  Op op;
  tosa::Op core;  // the operator that no form of it does without
  Forms (*forms)(const FormContext& context);
  bool has_bounds = false;  // ends in a RESCALE, which a CLAMP may follow
};

// Null where the op has no form in TOSA.
const FormRow* find_form(Op op);

// The operators that the node becomes, whatever the device makes of them.
Forms forms(const Graph& graph, const Node& node, DType storage, Device device);

// Why a value cannot be a tensor there: its rank, a size that is not fixed, nothing in it.
std::optional<Reason> shape_refusal(const Graph& graph, ValueId id);

// "[1,5,6,4]"
std::string numbers_text(const Ints& numbers);

}  // namespace isthmus::ethos_u
