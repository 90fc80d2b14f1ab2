// Copies a graph with every symbolic size seen again.
#include "ir/specialize.h"

#include "base/check.h"

namespace isthmus {
namespace {

class Specializer {
 public:
  Specializer(const Graph& source, const SymbolValues& numbers) : source_(source), numbers_(numbers) {}

  Graph run(const SymbolValues& upper_bounds) {
    for (Symbol symbol : source_.exprs().symbols()) {
      if (numbers_.contains(symbol.name)) continue;
      if (const auto bound = upper_bounds.find(symbol.name); bound != upper_bounds.end()) symbol.max = bound->second;
      result_.exprs().declare(std::move(symbol));
    }
    std::vector<ValueId> map(source_.values().size());
    for (const ValueId input : source_.inputs()) {
      map[input.index] = result_.add_input(source_[input].name, type(source_[input].type));
    }
    for (const GraphState& state : source_.states()) {
      const Value& value = source_[state.value];
      map[state.value.index] = result_.add_state(value.name, type(value.type), state.initial);
    }
    for (std::uint32_t i = 0; i < source_.values().size(); ++i) {
      const Value& value = source_.values()[i];
      if (value.kind != ValueKind::kConstant) continue;
      map[i] = result_.add_constant(value.name, type(value.type), source_.constants()[value.index]);
    }
    for (const Node& node : source_.nodes()) {
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(map[input.index]);
      std::vector<Result> results;
      for (const ValueId output : node.outputs) results.push_back({source_[output].name, type(source_[output].type)});
      Attrs attrs = node.attrs;
      std::visit([&](auto& alternative) { fields(alternative); }, attrs);
      const NodeId id = result_.add_node(node.op, std::move(attrs), std::move(inputs), std::move(results), node.origin);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) map[node.outputs[i].index] = result_[id].outputs[i];
    }
    for (Output output : source_.outputs()) {
      if (auto* id = std::get_if<ValueId>(&output.value)) {
        *id = map[id->index];
      } else {
        member(std::get<ArgValue>(output.value));
      }
      result_.add_output(std::move(output));
    }
    return std::move(result_);
  }

 private:
  TensorType type(TensorType old) {
    member(old.shape);
    return old;
  }

  template <class Fields>
  void fields(Fields& attrs) {
    std::apply([&](const auto&... field) { (member(attrs.*field.member), ...); }, Fields::fields());
  }
  void fields(ForeignAttrs& attrs) {
    for (Arg& arg : attrs.args) member(arg.value);
  }

  template <class Member>
  void member(Member&) {}
  void member(Dim& dim) { dim = result_.exprs().import(source_.exprs(), dim, numbers_); }
  void member(Dims& dims) {
    for (Dim& dim : dims) member(dim);
  }
  void member(ArgValue& argument) {
    if (auto* dim = std::get_if<Dim>(&argument.value)) member(*dim);
    if (auto* list = std::get_if<std::vector<ArgValue>>(&argument.value)) {
      for (ArgValue& item : *list) member(item);
    }
  }

  const Graph& source_;
  const SymbolValues& numbers_;
  Graph result_;
};

}  // namespace

Graph specialize(const Graph& graph, const SymbolValues& numbers, const SymbolValues& upper_bounds) {
  for (const SymbolValues* values : {&numbers, &upper_bounds}) {
    for (const auto& [name, value] : *values) {
      CHECK(graph.exprs().find_symbol(name) != nullptr, "symbol " + name + " is not declared");
    }
  }
  return Specializer(graph, numbers).run(upper_bounds);
}

}  // namespace isthmus
