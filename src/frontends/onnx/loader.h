// The state of loading one ONNX model: two graphs that grow together. The outer one is the result, a graph of foreign
// calls with the types of their results. The inner one holds the same calls read into ops of the table: it knows the
// types, since their rules are the only shape inference there is, and which values are constants.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "formats/onnx/onnx.h"
#include "ir/graph.h"
#include "ops/folding.h"
#include "ops/onnx/structure.h"

namespace isthmus::onnx {

// What a name of the file stands for.
struct Entity;
struct TensorEntity {
  ValueId inner;                 // in the graph of ops
  std::optional<ValueId> outer;  // in the graph of calls; a constant has one only where a call reads it
  std::string name;              // in the file
};
using SequenceEntity = std::vector<Entity>;
struct NoEntity {};  // an optional value that is absent
struct Entity {
  std::variant<NoEntity, TensorEntity, SequenceEntity> value;
};

using Scope = std::unordered_map<std::string, Entity>;

class Loader {
 public:
  Loader(const Model& model, Diagnostics& diagnostics) : model_(model), diagnostics_(diagnostics) {}

  Expected<isthmus::Graph> whole();

 private:
  // One node while it is loaded: its attributes with those of an enclosing function filled in.
  struct Visit {
    const Node& node;
    std::vector<const Attribute*> attributes;
    Origin origin;
    const Attribute* find(std::string_view name) const;
    std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
    GraphRef graph(std::string_view name) const;
  };
  using Entities = std::vector<Entity>;

  // load.cc
  Expected<void> load_inputs();
  Expected<TensorType> input_type(const ValueInfo& info);
  Dim symbol(const std::string& wanted);
  Expected<void> load_initializers(const Graph& graph);
  Expected<void> load_nodes(const std::vector<Node>& nodes);
  Expected<void> load_node(const Node& node);
  Expected<void> load_outputs();
  Expected<void> define(const Node& node, Entities results);

  // call.cc
  Expected<Entities> call(const Visit& visit);
  // A call that stands in no file: one result.
  Expected<Entity> made_call(const Visit& visit, std::string_view target, std::vector<Arg> attributes,
                             const std::vector<Entity>& tensors, std::string_view inputs);
  Expected<Entities> read_call(const Visit& visit, ForeignAttrs attrs, std::vector<TensorEntity> tensors,
                               const std::vector<std::string>& outputs);
  Expected<Entities> keep_foreign(const Visit& visit, ForeignAttrs attrs, const std::vector<TensorEntity>& tensors,
                                  const std::string& why);
  Expected<void> fold(std::size_t first_node, std::vector<ValueId>& results);
  Expected<ValueId> outer(TensorEntity& tensor);
  TensorEntity constant(TensorView data, std::string name, std::string fqn);
  std::string unused_inner_name(std::string_view stem) const;

  // functions and branches
  Expected<Entities> structure(OnnxStructure kind, const Visit& visit);
  Expected<Entities> branch(const Visit& visit);
  Expected<Entities> loop(const Visit& visit);
  Expected<Entities> scan(const Visit& visit);
  Expected<Entities> sequence(OnnxStructure kind, const Visit& visit);
  Expected<Entities> sequence_map(const Visit& visit);
  Expected<Entities> split_to_sequence(const Visit& visit);
  Expected<Entities> call_function(const Function& function, const Visit& visit);
  // Loads a graph with its inputs bound; what its outputs stand for.
  Expected<Entities> inlined(const Graph& graph, const Entities& inputs);
  Expected<Entities> scan_once(const Visit& visit, const Graph& body, const Entities& all, std::size_t count);
  Expected<Entity> stacked(const Visit& visit, const Entities& tensors, std::int64_t axis);
  Expected<Entity> selected(const Visit& visit, const Entity& tensor, std::int64_t axis, std::int64_t start,
                            std::int64_t size, bool keepdims);

  const Entity* lookup(const std::string& name) const;
  Expected<Entity> entity(const std::string& name) const;
  Expected<Entity> input(const Visit& visit, std::size_t i) const;  // NoEntity where it is not given
  Expected<TensorEntity> tensor(const Visit& visit, std::size_t i) const;
  // The only element of a constant of integers or bools, where it is one.
  std::optional<std::int64_t> known_integer(const Entity& entity);
  std::optional<std::vector<std::int64_t>> known_list(const Entity& entity);
  std::int64_t opset(const std::string& domain) const;

  const Model& model_;
  Diagnostics& diagnostics_;
  FoldingBudget folding_;
  isthmus::Graph outer_;
  isthmus::Graph inner_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::uint32_t, ValueId> outer_constants_;  // by value of the inner graph
  std::map<std::string, const ValueInfo*> declared_;
  std::vector<const Opsets*> opsets_;  // of the functions around, innermost last
  std::vector<std::vector<const Attribute*>> function_attributes_;
  std::map<std::string, Error> unreadable_;  // initializers of types that no tensor has
  std::deque<Attribute> referred_;           // attributes of functions under the names of nodes
  std::size_t calls_ = 0;
  std::size_t depth_ = 0;
};

// A name of the file as one that a graph can have.
std::string value_name(std::string_view name);
// The same for the name of a size.
std::string symbol_name(std::string_view name);
Origin origin_of(const Node& node);
std::string node_place(const Node& node);

}  // namespace isthmus::onnx
