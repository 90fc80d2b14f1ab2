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

std::string place(const Graph& graph, const Node& node) {
  const std::string name = node.outputs.empty() ? std::string("without a result") : "%" + graph[node.outputs[0]].name;
  const std::string source = node.origin.source.empty() ? std::string() : " (" + node.origin.source + ")";
  return fmt::format("{} {}{}", name_of(node.op), name, source);
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

Expected<void> check_constant(const Graph& graph, const Value& value) {
  const Constant& constant = graph.constants()[value.index];
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

}  // namespace

Expected<void> verify(const Graph& graph) {
  std::vector<bool> is_defined(graph.values().size(), false);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    TRY(check_type(graph, value));
    if (value.kind == ValueKind::kConstant) TRY(check_constant(graph, value));
    is_defined[i] = value.kind != ValueKind::kResult;
  }
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.attrs.index() != default_attrs(node.op).index()) {
      return bad_input(place(graph, node) + ": has attributes of another op");
    }
    for (const ValueId input : node.inputs) {
      if (!is_defined[input.index]) {
        return bad_input(fmt::format("{}: %{} is used before it is defined", place(graph, node), graph[input].name));
      }
    }
    if (const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs)) {
      std::size_t tensors = 0;
      for (const Arg& arg : foreign->args) tensors += tensors_in(arg.value);
      if (tensors != node.inputs.size()) {
        return bad_input(fmt::format("{}: {} tensors among its arguments and {} inputs", place(graph, node), tensors,
                                     node.inputs.size()));
      }
    }
    for (const ValueId output : node.outputs) {
      if (graph[output].kind != ValueKind::kResult || graph[output].index != n) {
        return bad_input(
            fmt::format("{}: %{} does not name it as its producer", place(graph, node), graph[output].name));
      }
      is_defined[output.index] = true;
    }
  }
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value); id != nullptr && id->index >= graph.values().size()) {
      return bad_input("the graph returns a value that does not exist");
    }
  }
  return {};
}

}  // namespace isthmus
