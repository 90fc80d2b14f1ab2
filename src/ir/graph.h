// The model as two flat arrays: values and the nodes that make them, in execution order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "ir/attrs.h"
#include "ir/exprs.h"
#include "ir/ids.h"
#include "ir/name_index.h"
#include "ir/op.h"
#include "ir/types.h"

namespace isthmus {

// Where in the user's model a node comes from; each part may be empty.
struct Origin {
  std::string source;  // "networks.py:251"
  std::string call;    // "concat"
  std::string module;  // "fusion.blocks.0"
  bool empty() const { return source.empty() && call.empty() && module.empty(); }
  bool operator==(const Origin&) const = default;
};

// A value that the model carries with it. Its data may be absent: a graph read from text has only its hash.
struct Constant {
  std::string fqn;                    // the name in the user's module; empty for constants made by us
  std::optional<TensorView> data;     // its sizes equal the value's shape
  std::optional<std::uint64_t> hash;  // known without data, from text

  // Of the elements in row-major order and their type; reads the data when it has not been given.
  std::uint64_t content_hash() const;
};

enum class ValueKind : std::uint8_t { kInput, kState, kConstant, kResult };

struct Value {
  std::string name;  // unique and stable; it also names its node in messages
  TensorType type;
  ValueKind kind = ValueKind::kResult;
  std::uint32_t index = 0;  // of the node (kResult), the constant (kConstant) or the state (kState) behind it
};

// A buffer of the user's module that the model writes while it runs. The first run reads the initial value, each other
// one what the run before has left: the output of kind kMutation whose target is the name of this value.
struct GraphState {
  ValueId value;
  Constant initial;
};

struct Node {
  Op op = Op::kForeign;
  Attrs attrs;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Origin origin;
  bool in_float = false;  // a step of something that loses too much in integers: it is not quantized
};

enum class OutputKind : std::uint8_t {
  kResult,    // what the model returns
  kMutation,  // what the model writes back to a state or an input
};

// One leaf of what the model returns: a value, or something known before it runs.
struct Output {
  std::variant<ValueId, ArgValue> value;
  OutputKind kind = OutputKind::kResult;
  std::string target;  // of a mutation: the name of the state or input that it changes
};

struct Result {
  std::string name;
  TensorType type;
};

class Graph {
 public:
  Exprs& exprs() { return exprs_; }
  const Exprs& exprs() const { return exprs_; }

  // For as many values and nodes as another graph has: its copy will have about as many.
  void reserve_like(const Graph& other);
  // Building, in execution order. Names must be new and inputs must exist: anything else is our caller's mistake.
  ValueId add_input(std::string name, TensorType type);
  ValueId add_state(std::string name, TensorType type, Constant initial);
  ValueId add_constant(std::string name, TensorType type, Constant constant);
  ValueId add_constant(std::string name, TensorView data, std::string fqn = {});
  NodeId add_node(Op op, Attrs attrs, std::vector<ValueId> inputs, std::vector<Result> results, Origin origin);
  // Other data of the same type.
  void set_constant(ValueId id, TensorView data) { constants_[values_[id.index].index].data = std::move(data); }
  // The model turns out to write to a constant: from now on it is a state with this initial value.
  void make_state(ValueId constant);
  // The model turns out not to change a state, which is a constant then, or an input.
  void forget_mutation(ValueId unchanged);
  void keep_in_float(NodeId id) { nodes_[id.index].in_float = true; }
  void add_output(Output output);
  void rename(ValueId id, std::string name);
  // The name that a value had before a rewrite made it, or a part of it, into this one. Names of values come first.
  void add_alias(std::string name, ValueId now) { aliases_.insert_or_assign(std::move(name), now); }
  // What the quantized values of a value mean; its element type is an integer.
  void set_quant(ValueId id, Quant quant) { values_[id.index].type.quant = std::move(quant); }
  // `stem`, or `stem` with a number that makes it a new name while the number before it does not: the smallest where
  // there are no gaps.
  std::string unused_name(std::string_view stem) const;

  std::span<const Value> values() const { return values_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const GraphState> states() const { return states_; }
  std::span<const Output> outputs() const { return outputs_; }
  std::span<const Constant> constants() const { return constants_; }

  const Value& operator[](ValueId id) const { return values_[id.index]; }
  const Node& operator[](NodeId id) const { return nodes_[id.index]; }
  const TensorType& type(ValueId id) const { return values_[id.index].type; }
  std::optional<ValueId> find(std::string_view name) const;
  const std::map<std::string, ValueId, std::less<>>& aliases() const { return aliases_; }
  // The node that makes the value; nothing for inputs and constants.
  const Node* producer(ValueId id) const;
  const Constant* constant(ValueId id) const;
  const GraphState* state(ValueId id) const;
  // What a run leaves in a state; nothing where no output says so yet.
  std::optional<ValueId> next_value(const GraphState& state) const;

 private:
  ValueId add_value(std::string name, TensorType type, ValueKind kind, std::size_t index);

  Exprs exprs_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Constant> constants_;
  std::vector<ValueId> inputs_;
  std::vector<GraphState> states_;
  std::vector<Output> outputs_;
  std::map<std::string, ValueId, std::less<>> aliases_;
  NameIndex by_name_;
};

// Letters, digits, '_' and '.', and every byte of a non-ASCII letter; not empty.
bool is_value_name(std::string_view name);

// "[1,4*s0,3]"
std::string shape_text(const Graph& graph, const Shape& shape);
// "f32[1,4*s0,3]"
std::string type_text(const Graph& graph, const TensorType& type);
// "%x is f32[1,4*s0,3]"
std::string typed_name(const Graph& graph, ValueId id);

}  // namespace isthmus
