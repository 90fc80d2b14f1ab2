// The rules that every graph keeps between two stages.
#include "ir/verify.h"

#include <fmt/format.h>

#include <vector>

namespace isthmus {
namespace {

std::size_t tensors_in(const ArgValue& value) {
  if (std::holds_alternative<TensorArg>(value.value)) return 1;
  std::size_t count = 0;
  if (const auto* list = std::get_if<std::vector<ArgValue>>(&value.value)) {
    for (const ArgValue& item : *list) count += tensors_in(item);
  }
  return count;
}

Expected<void> check_type(const Graph& graph, const Value& value) {
  std::uint64_t count = 1;
  for (const Dim dim : value.type.shape) {
    if (!dim.is_fixed()) continue;
    if (dim.value() < 0) return bad_input(fmt::format("%{} has a negative dimension", value.name));
    const auto product = multiply_sizes(count, static_cast<std::uint64_t>(dim.value()));
    if (!product || *product > (std::uint64_t{1} << 58)) {
      return bad_input(fmt::format("%{} has an absurd shape {}", value.name, shape_text(graph, value.type.shape)));
    }
    count = *product;
  }
  return {};
}

Expected<void> check_constant(const Graph& graph, const Value& value, const Constant& constant) {
  if (!constant.data && !constant.hash)
    return bad_input(fmt::format("constant %{} has neither data nor hash", value.name));
  if (!constant.data) return {};
  const Shape shape(constant.data->sizes.begin(), constant.data->sizes.end());
  if (constant.data->dtype != value.type.dtype || shape != value.type.shape) {
    return bad_input(fmt::format("constant %{} is {} and its data is {}{}", value.name, type_text(graph, value.type),
                                 name_of(constant.data->dtype), shape_text(graph, shape)));
  }
  return {};
}

bool can_hold(const TensorType& place, const TensorType& written) {
  if (place.dtype != written.dtype || place.quant != written.quant || place.rank() != written.rank()) return false;
  for (std::size_t axis = 0; axis < place.rank(); ++axis) {
    const bool are_numbers = place.shape[axis].is_fixed() && written.shape[axis].is_fixed();
    if (are_numbers && place.shape[axis] != written.shape[axis]) return false;
  }
  return true;
}

// Each state is written once, each input at most once, and by what is of its type.
Expected<void> check_mutations(const Graph& graph) {
  std::vector<bool> is_written(graph.values().size(), false);
  for (const Output& output : graph.outputs()) {
    if (output.kind != OutputKind::kMutation) continue;
    const auto target = graph.find(output.target);
    const auto* written = std::get_if<ValueId>(&output.value);
    if (!target || (graph[*target].kind != ValueKind::kState && graph[*target].kind != ValueKind::kInput)) {
      return bad_input(fmt::format("the graph writes to \"{}\", which is neither a state nor an input", output.target));
    }
    if (is_written[target->index]) return bad_input(fmt::format("the graph writes to %{} twice", output.target));
    is_written[target->index] = true;
    if (written == nullptr || !can_hold(graph.type(*target), graph.type(*written))) {
      return bad_input(fmt::format("what the graph writes to %{} is of another type", output.target));
    }
  }
  for (const GraphState& state : graph.states()) {
    if (!is_written[state.value.index]) {
      return bad_input(fmt::format("state %{} is never written", graph[state.value].name));
    }
  }
  return {};
}

}  // namespace

Expected<void> verify(const Graph& graph) {
  std::vector<bool> is_defined(graph.values().size(), false);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    TRY(check_type(graph, value));
    const ValueId id{static_cast<std::uint32_t>(i)};
    if (const Constant* constant = graph.constant(id)) TRY(check_constant(graph, value, *constant));
    if (const GraphState* state = graph.state(id)) TRY(check_constant(graph, value, state->initial));
    is_defined[i] = value.kind != ValueKind::kResult;
  }
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.attrs.index() != default_attrs(node.op).index()) {
      return bad_input(node_text(graph, node) + ": has attributes of another op");
    }
    for (const ValueId input : node.inputs) {
      if (!is_defined[input.index]) {
        return bad_input(
            fmt::format("{}: %{} is used before it is defined", node_text(graph, node), graph[input].name));
      }
    }
    if (const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs)) {
      std::size_t tensors = 0;
      for (const Arg& arg : foreign->args) tensors += tensors_in(arg.value);
      if (tensors != node.inputs.size()) {
        return bad_input(fmt::format("{}: {} tensors among its arguments and {} inputs", node_text(graph, node),
                                     tensors, node.inputs.size()));
      }
    }
    for (const ValueId output : node.outputs) {
      if (graph[output].kind != ValueKind::kResult || graph[output].index != n) {
        return bad_input(
            fmt::format("{}: %{} does not name it as its producer", node_text(graph, node), graph[output].name));
      }
      is_defined[output.index] = true;
    }
  }
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value); id != nullptr && id->index >= graph.values().size()) {
      return bad_input("the graph returns a value that does not exist");
    }
  }
  return check_mutations(graph);
}

}  // namespace isthmus
