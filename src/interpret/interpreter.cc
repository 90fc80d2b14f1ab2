// Binds symbols, runs nodes in order, frees what is no longer read.
#include "interpret/interpreter.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/counts.h"
#include "interpret/evaluate.h"
#include "interpret/kernel.h"
#include "ir/literals.h"
#include "ir/readers.h"

namespace isthmus {
namespace {

// The attributes with every symbolic number replaced by its value.
class Concretizer {
 public:
  Concretizer(const Exprs& exprs, const SymbolValues& symbols) : exprs_(exprs), symbols_(symbols) {}

  Expected<Attrs> attrs(Attrs attrs) const {
    TRY(std::visit([&](auto& alternative) { return fields(alternative); }, attrs));
    return attrs;
  }
  Expected<std::vector<std::int64_t>> sizes(const Shape& shape) const {
    std::vector<std::int64_t> result;
    for (const Dim dim : shape) {
      result.push_back(TRY(exprs_.evaluate(dim, symbols_)));
      if (result.back() < 0) return bad_input(fmt::format("the size {} is negative here", exprs_.text(dim)));
    }
    return result;
  }

 private:
  template <class Fields>
  Expected<void> fields(Fields& attrs) const {
    Expected<void> done;
    const auto visit = [&](const auto& field) {
      if (done) done = member(attrs.*field.member);
    };
    std::apply([&](const auto&... field) { (visit(field), ...); }, Fields::fields());
    return done;
  }
  Expected<void> fields(ForeignAttrs&) const { return {}; }

  template <class Member>
  Expected<void> member(Member&) const {
    return {};
  }
  Expected<void> member(Dim& dim) const {
    dim = Dim(TRY(exprs_.evaluate(dim, symbols_)));
    return {};
  }
  Expected<void> member(Dims& dims) const {
    for (Dim& dim : dims) TRY(member(dim));
    return {};
  }

  const Exprs& exprs_;
  const SymbolValues& symbols_;
};

}  // namespace

Expected<SymbolValues> bind_symbols(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back({input.dtype(), {input.sizes().begin(), input.sizes().end()}});
  return bind_symbols(graph, types);
}

Expected<SymbolValues> bind_symbols(const Graph& graph, std::span<const TensorType> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return bad_input(
        fmt::format("the model takes {}, {} given", counted(graph.inputs().size(), "input"), inputs.size()));
  }
  const Exprs& exprs = graph.exprs();
  SymbolValues values;
  const auto describe = [&](std::size_t i) {
    const Value& value = graph[graph.inputs()[i]];
    return fmt::format("input {} ({}) is {}, expected {}", i, value.name, type_text(graph, inputs[i]),
                       type_text(graph, value.type));
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    if (inputs[i].dtype != type.dtype || inputs[i].rank() != type.rank()) return bad_input(describe(i));
    for (std::size_t axis = 0; axis < type.rank(); ++axis) {
      const Dim dim = type.shape[axis];
      if (!dim.is_fixed() && exprs.find_symbol(exprs.text(dim)) != nullptr) {
        values.emplace(exprs.text(dim), inputs[i].shape[axis].value());
      }
    }
  }
  // A size such as 4*s0, where s0 stands nowhere alone, determines its symbol as well.
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    for (std::size_t axis = 0; axis < type.rank(); ++axis) {
      const std::vector<std::string> names = exprs.symbols_in(type.shape[axis]);
      if (names.size() != 1 || values.contains(names[0])) continue;
      const auto at_zero = exprs.evaluate(type.shape[axis], {{names[0], 0}});
      const auto at_one = exprs.evaluate(type.shape[axis], {{names[0], 1}});
      if (!at_zero || !at_one || *at_one <= *at_zero) continue;
      const std::int64_t guess = (inputs[i].shape[axis].value() - *at_zero) / (*at_one - *at_zero);
      const auto check = exprs.evaluate(type.shape[axis], {{names[0], guess}});
      if (check && *check == inputs[i].shape[axis].value()) values.emplace(names[0], guess);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    for (std::size_t axis = 0; axis < type.rank(); ++axis) {
      const std::int64_t expected = TRY(within(exprs.evaluate(type.shape[axis], values), [&] { return describe(i); }));
      if (expected != inputs[i].shape[axis].value()) return bad_input(describe(i));
    }
  }
  for (const auto& [name, value] : values) {
    const Symbol& symbol = *exprs.find_symbol(name);
    if ((symbol.min && value < *symbol.min) || (symbol.max && value > *symbol.max)) {
      return bad_input(fmt::format("{} = {} is outside the range for which the model was exported ({}..{})", name,
                                   value, symbol.min ? std::to_string(*symbol.min) : "",
                                   symbol.max ? std::to_string(*symbol.max) : ""));
    }
  }
  return values;
}

Expected<ConcreteNode> concrete(const Graph& graph, const Node& node, const SymbolValues& symbols) {
  if (const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs)) {
    return fail(ErrorKind::kUnsupported, fmt::format("Isthmus has no kernel for {}", foreign->target));
  }
  const TensorType& type = graph.type(node.outputs[0]);
  const Concretizer concretizer(graph.exprs(), symbols);
  ConcreteNode result{TRY(concretizer.attrs(node.attrs)), TRY(concretizer.sizes(type.shape))};
  std::uint64_t bytes = size_of(type.dtype);
  for (const std::int64_t size : result.sizes) {
    const auto product = multiply_sizes(bytes, static_cast<std::uint64_t>(size));
    if (!product || *product > kMaxRunBytes) return bad_input("the result does not fit in memory");
    bytes = *product;
  }
  return result;
}

Expected<Tensor> evaluate_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                               const SymbolValues& symbols) {
  const ConcreteNode numbers = TRY(concrete(graph, node, symbols));
  return run_kernel(node.op, {inputs, numbers.attrs, graph.type(node.outputs[0]).dtype, numbers.sizes});
}

Expected<StateValues> initial_states(const Graph& graph) {
  StateValues states;
  for (const GraphState& state : graph.states()) {
    if (!state.initial.data) return bad_input(fmt::format("state %{} has no data", graph[state.value].name));
    states.push_back(Tensor::from(*state.initial.data));
  }
  return states;
}

namespace {

// What the states hold after a run, of all values then.
StateValues states_after(const Graph& graph, const std::vector<std::optional<Tensor>>& values) {
  StateValues states;
  for (const GraphState& state : graph.states()) {
    const auto next = graph.next_value(state);
    CHECK(next && values[next->index], "%" + graph[state.value].name + " has no new value");
    states.push_back(*values[next->index]);
  }
  return states;
}

}  // namespace

Expected<std::vector<std::optional<Tensor>>> interpret(const Graph& graph, std::span<const Tensor> inputs,
                                                       const Observer& observer, StateValues* states) {
  return interpret_by(evaluate_node, graph, inputs, observer, states);
}

Expected<std::vector<std::optional<Tensor>>> interpret_by(const Evaluate& evaluate, const Graph& graph,
                                                          std::span<const Tensor> inputs, const Observer& observer,
                                                          StateValues* states) {
  const SymbolValues symbols = TRY(bind_symbols(graph, inputs));
  std::vector<std::size_t> readers = reader_counts(graph);
  std::vector<std::optional<Tensor>> values(graph.values().size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].index] = inputs[i];
  const StateValues before = states != nullptr ? *states : TRY(initial_states(graph));
  for (std::size_t i = 0; i < before.size(); ++i) values[graph.states()[i].value.index] = before[i];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.kind != ValueKind::kConstant || readers[i] == 0) continue;
    const Constant& constant = graph.constants()[value.index];
    if (!constant.data) return bad_input(fmt::format("constant %{} has no data", value.name));
    values[i] = Tensor::from(*constant.data);
  }
  if (observer) {
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      if (values[i]) observer(ValueId{i}, *values[i]);
    }
  }
  for (const Node& node : graph.nodes()) {
    std::vector<Tensor> arguments;
    arguments.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) arguments.push_back(*values[input.index]);
    Tensor result = TRY(within(evaluate(graph, node, arguments, symbols), [&] { return node_text(graph, node); }));
    if (observer) observer(node.outputs[0], result);
    if (readers[node.outputs[0].index] > 0) values[node.outputs[0].index] = std::move(result);
    for (const ValueId input : node.inputs) {
      if (--readers[input.index] == 0) values[input.index].reset();
    }
  }
  std::vector<std::optional<Tensor>> results;
  for (const Output& output : graph.outputs()) {
    if (output.kind != OutputKind::kResult) continue;
    const auto* id = std::get_if<ValueId>(&output.value);
    results.push_back(id == nullptr ? std::nullopt : values[id->index]);
  }
  if (states != nullptr) *states = states_after(graph, values);
  return results;
}

}  // namespace isthmus
