// Inputs, initializers, nodes and outputs of an ONNX model.
#include "frontends/onnx/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/onnx_dtype.h"
#include "base/untrusted_text.h"
#include "frontends/onnx/loader.h"
#include "ir/literals.h"
#include "ir/rewriter.h"
#include "ir/verify.h"

namespace isthmus::onnx {
namespace {

// Beyond this, unrolled loops and functions make graphs that cannot be compiled in any useful time.
constexpr std::size_t kMaxCalls = std::size_t{1} << 18;
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;

}  // namespace

const Attribute* Loader::Visit::find(std::string_view name) const {
  for (const Attribute* attribute : attributes) {
    if (attribute->name == name) return attribute;
  }
  return nullptr;
}
std::int64_t Loader::Visit::integer(std::string_view name, std::int64_t otherwise) const {
  const Attribute* attribute = find(name);
  const auto* number = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->value);
  return number == nullptr ? otherwise : *number;
}
GraphRef Loader::Visit::graph(std::string_view name) const {
  const Attribute* attribute = find(name);
  const auto* graph = attribute == nullptr ? nullptr : std::get_if<GraphRef>(&attribute->value);
  return graph == nullptr ? nullptr : *graph;
}

const Entity* Loader::lookup(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return &found->second;
  }
  return nullptr;
}

Expected<Entity> Loader::entity(const std::string& name) const {
  const Entity* found = lookup(name);
  if (found == nullptr) return bad_input(fmt::format("{} is used before it is defined", shown(name)));
  return *found;
}

Expected<Entity> Loader::input(const Visit& visit, std::size_t i) const {
  if (i >= visit.node.inputs.size() || visit.node.inputs[i].empty()) return Entity{NoEntity{}};
  return entity(visit.node.inputs[i]);
}

Expected<TensorEntity> Loader::tensor(const Visit& visit, std::size_t i) const {
  Entity found = TRY(input(visit, i));
  if (auto* tensor = std::get_if<TensorEntity>(&found.value)) return *tensor;
  return bad_input(fmt::format("input {} is not a tensor", i));
}

std::int64_t Loader::opset(const std::string& domain) const {
  const Opsets& opsets = opsets_.empty() ? model_.opsets : *opsets_.back();
  const auto found = opsets.find(domain);
  return found == opsets.end() ? 1 : found->second;
}

// A size with a name is one symbol wherever the name stands.
Dim Loader::symbol(const std::string& wanted) {
  const std::string name = symbol_name(wanted);
  if (inner_.exprs().find_symbol(name) == nullptr) {
    inner_.exprs().declare({name, std::int64_t{1}, std::nullopt, std::nullopt});
  }
  return inner_.exprs().symbol(name);
}

Expected<TensorType> Loader::input_type(const ValueInfo& info) {
  const Type& type = info.type;
  if (type.kind != Type::Kind::kTensor) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("input {} is {}; only tensors can be read", shown(info.name), name_of(type.kind)));
  }
  if (!type.shape) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("input {} has no shape and no rank: export the model with the shapes of its inputs",
                            shown(info.name)));
  }
  TensorType result{TRY(within(dtype_from_onnx(type.element), [&] { return "input " + shown(info.name); })), {}};
  for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
    const Size& size = (*type.shape)[axis];
    const auto* number = std::get_if<std::int64_t>(&size);
    const auto* name = std::get_if<std::string>(&size);
    if (number != nullptr && *number >= 0) {
      result.shape.emplace_back(*number);
    } else if (name != nullptr && !name->empty()) {
      result.shape.push_back(symbol(*name));
    } else {  // some exporters write -1
      result.shape.push_back(symbol(fmt::format("{}_{}", value_name(info.name), axis)));
    }
  }
  return result;
}

Expected<void> Loader::load_inputs() {
  for (const ValueInfo& info : model_.graph.inputs) {
    // Old files list initializers among the inputs.
    if (scopes_.back().contains(info.name)) continue;
    TensorType type = TRY(input_type(info));
    const std::string name = outer_.unused_name(value_name(info.name));
    const ValueId outside = outer_.add_input(name, type);
    const ValueId inside = inner_.add_input(unused_inner_name(name), std::move(type));
    scopes_.back().emplace(info.name, Entity{TensorEntity{inside, outside, info.name}});
  }
  return {};
}

Expected<void> Loader::load_initializers(const Graph& graph) {
  if (!graph.sparse_initializers.empty()) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("{} is a sparse tensor; only dense ones can be read", shown(graph.sparse_initializers[0])));
  }
  for (const Tensor& initializer : graph.initializers) {
    if (scopes_.back().contains(initializer.name)) {
      return bad_input(fmt::format("{} is defined twice", shown(initializer.name)));
    }
    // What cannot be read is an error where it is used.
    if (!initializer.data) {
      unreadable_.emplace(initializer.name, initializer.data.error());
      continue;
    }
    scopes_.back().emplace(initializer.name, Entity{constant(*initializer.data, initializer.name, initializer.name)});
  }
  return {};
}

Expected<void> Loader::load_nodes(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    TRY(within(load_node(node), [&] { return node_place(node); }));
  }
  return {};
}

Expected<void> Loader::load_node(const Node& node) {
  if (++calls_ > kMaxCalls || inner_.nodes().size() > kMaxNodes) {
    return fail(ErrorKind::kUnsupported, "too many nodes after unrolling loops and recurrent layers");
  }
  Visit visit{node, {}, origin_of(node)};
  for (const Attribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      visit.attributes.push_back(&attribute);
      continue;
    }
    if (function_attributes_.empty()) return bad_input("an attribute refers to a function that is not there");
    for (const Attribute* given : function_attributes_.back()) {
      if (given->name != attribute.reference) continue;
      referred_.push_back(*given);
      referred_.back().name = attribute.name;
      visit.attributes.push_back(&referred_.back());
    }
  }
  for (const Function& function : model_.functions) {
    if (function.name != node.op_type || function.domain != node.domain || function.overload != node.overload) continue;
    return define(node, TRY(call_function(function, visit)));
  }
  if (const auto kind = onnx_structure(node.domain, node.op_type)) {
    return define(node, TRY(structure(*kind, visit)));
  }
  return define(node, TRY(call(visit)));
}

Expected<void> Loader::define(const Node& node, Entities results) {
  if (results.size() < node.outputs.size()) {
    return bad_input(fmt::format("{} results are named, it has {}", node.outputs.size(), results.size()));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const bool is_new = scopes_.back().emplace(node.outputs[i], std::move(results[i])).second;
    if (!is_new) return bad_input(fmt::format("{} is defined twice", shown(node.outputs[i])));
  }
  return {};
}

Expected<void> Loader::load_outputs() {
  for (const ValueInfo& info : model_.graph.outputs) {
    Entity found = TRY(entity(info.name));
    auto* tensor = std::get_if<TensorEntity>(&found.value);
    if (tensor == nullptr) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("output {} is a sequence; only tensors can be returned", shown(info.name)));
    }
    outer_.add_output({TRY(outer(*tensor)), OutputKind::kResult, {}});
  }
  return {};
}

Expected<isthmus::Graph> Loader::whole() {
  constexpr std::int64_t kMinIrVersion = 3;
  if (model_.ir_version < kMinIrVersion) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("the file has IR version {}; {} and later can be read", model_.ir_version, kMinIrVersion));
  }
  for (const ValueInfo& info : model_.graph.values) declared_.emplace(info.name, &info);
  for (const ValueInfo& info : model_.graph.outputs) declared_.emplace(info.name, &info);
  scopes_.emplace_back();
  TRY(load_initializers(model_.graph));
  TRY(load_inputs());
  TRY(load_nodes(model_.graph.nodes));
  TRY(load_outputs());
  outer_.exprs() = inner_.exprs();
  TRY(verify(outer_));
  return without_dead_code(std::move(outer_));
}

}  // namespace isthmus::onnx

namespace isthmus {

Expected<Model> load(const onnx::Model& model, Diagnostics& diagnostics) {
  Model result{TRY(onnx::Loader(model, diagnostics).whole()), {}};
  result.examples.resize(result.graph.inputs().size());
  return result;
}

}  // namespace isthmus
