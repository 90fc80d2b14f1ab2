// What holds for every target.
#include "targets/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/table.h"

namespace isthmus {

std::optional<Reason> common_refusal(const Graph& graph, const Node& node) {
  const auto has_complex = [&](ValueId id) { return is_complex(graph.type(id).dtype); };
  const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
  if (std::ranges::any_of(node.inputs, has_complex) || std::ranges::any_of(node.outputs, has_complex)) {
    return Reason{ReasonCode::kComplex, foreign != nullptr ? foreign->target : std::string(name_of(node.op))};
  }
  if (foreign != nullptr) return Reason{ReasonCode::kForeignOp, foreign->target};
  return std::nullopt;
}

std::string operation_text(const Graph& graph, const Node& node) {
  std::vector<std::string> types;
  for (const ValueId input : node.inputs) {
    if (graph.constant(input) == nullptr) types.push_back(type_text(graph, graph.type(input)));
  }
  std::string text = fmt::format("{}{}{}", name_of(node.op), types.empty() ? "" : " of ", fmt::join(types, ", "));
  const bool is_converted = !node.inputs.empty() && !node.outputs.empty() &&
                            graph.type(node.inputs[0]).dtype != graph.type(node.outputs[0]).dtype;
  if (is_converted) text += fmt::format(" to {}", name_of(graph.type(node.outputs[0]).dtype));
  return text;
}

std::string subject_of(const Graph& graph, const Node& node) {
  bool has_index = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) has_index |= role_of(node.op, i) == Role::kIndex;
  const bool is_of_a_table = has_index && graph.constant(node.inputs[0]) != nullptr;
  return is_of_a_table ? "embedding lookup" : std::string(name_of(node.op));
}

Reason type_reason(const Graph& graph, const Node& node, bool (*fits)(const TensorType& type)) {
  const auto has_fitting = [&](ValueId id) { return fits(graph.type(id)); };
  const auto odd_result = std::ranges::find_if_not(node.outputs, has_fitting);
  const auto odd_input = std::ranges::find_if_not(node.inputs, has_fitting);
  const bool has_odd_result = odd_result != node.outputs.end();
  const bool has_odd_input = odd_input != node.inputs.end();
  const ValueId odd = has_odd_result ? *odd_result : *odd_input;
  if (is_floating(graph.type(odd).dtype)) return {ReasonCode::kOtherFloat, typed_name(graph, odd)};
  if (has_odd_result) return {has_odd_input ? ReasonCode::kDType : ReasonCode::kResultType, typed_name(graph, odd)};
  const auto at = static_cast<std::size_t>(odd_input - node.inputs.begin());
  return {role_of(node.op, at) == Role::kIndex ? ReasonCode::kIndexType : ReasonCode::kInputType,
          typed_name(graph, odd)};
}

}  // namespace isthmus
