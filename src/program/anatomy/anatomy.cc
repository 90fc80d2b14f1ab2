// Follows the values of a graph from maker to reader.
#include "program/anatomy/anatomy.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/executorch/xnn_blob.h"
#include "ir/attrs_text.h"
#include "ir/literals.h"
#include "program/anatomy/fields.h"
#include "program/anatomy/zero_points.h"

namespace isthmus::anatomy {

std::vector<std::optional<std::uint32_t>> Graph::makers() const {
  std::vector<std::optional<std::uint32_t>> result(values.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t output : nodes[i].outputs) result[output] = i;
  }
  return result;
}

std::vector<std::vector<std::uint32_t>> Graph::readers() const {
  std::vector<std::vector<std::uint32_t>> result(values.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t input : nodes[i].inputs) {
      if (result[input].empty() || result[input].back() != i) result[input].push_back(i);
    }
  }
  return result;
}

std::string place_of(const Node& node) {
  return node.delegate ? fmt::format("delegate {}", *node.delegate) : std::string("host");
}

Graph take_apart(const tosa::Graph& graph) {
  Graph result;
  const auto zero_points = tosa_zero_points(graph);
  for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
    const tosa::Value& value = graph.values[i];
    Value row{.name = value.name,
              .dtype = std::string(name_of(value.type)),
              .sizes = {value.shape.begin(), value.shape.end()},
              .quant = {},
              .zero_point = zero_points[i],
              .data = {},
              .is_constant = value.data.size() != 0,
              .event = Event{0, 0, i}};
    if (row.is_constant) row.data = value.data;
    result.values.push_back(std::move(row));
  }
  for (const tosa::Operator& op : graph.operators) {
    if (op.inputs.empty()) {  // a constant
      for (const tosa::ValueIndex output : op.outputs) result.values[output].is_constant = true;
      continue;
    }
    result.nodes.push_back({.op = std::string(name_of(op.op)),
                            .fields = fields_text(op),
                            .delegate = 0,
                            .number = static_cast<std::size_t>(&op - graph.operators.data()),
                            .inputs = op.inputs,
                            .outputs = op.outputs,
                            .origin = {}});
  }
  result.inputs = graph.inputs;
  result.outputs = graph.outputs;
  return result;
}

Graph take_apart(const isthmus::Graph& model) {
  Graph result;
  for (std::uint32_t i = 0; i < model.values().size(); ++i) {
    const isthmus::Value& value = model.values()[i];
    Value row{.name = value.name,
              .dtype = std::string(name_of(value.type.dtype)),
              .sizes = {},
              .quant = value.type.quant,
              .data = {},
              .is_constant = value.kind == ValueKind::kConstant,
              .event = {}};
    for (const Dim dim : value.type.shape) row.sizes.push_back(dim.is_fixed() ? dim.value() : -1);
    if (const Constant* constant = model.constant(ValueId{i}); constant != nullptr && constant->data) {
      row.data = contiguous_bytes(*constant->data);
    }
    result.values.push_back(std::move(row));
  }
  const auto indices = [](const std::vector<ValueId>& ids) {
    std::vector<std::uint32_t> result_of;
    for (const ValueId id : ids) result_of.push_back(id.index);
    return result_of;
  };
  for (std::size_t i = 0; i < model.nodes().size(); ++i) {
    const isthmus::Node& node = model.nodes()[i];
    const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
    result.nodes.push_back({.op = foreign != nullptr ? foreign->target : std::string(name_of(node.op)),
                            .fields = attributes_text(model, node),
                            .delegate = {},
                            .number = i,
                            .inputs = indices(node.inputs),
                            .outputs = indices(node.outputs),
                            .origin = node.origin});
  }
  for (const ValueId input : model.inputs()) result.inputs.push_back(input.index);
  for (const Output& output : model.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) result.outputs.push_back(id->index);
  }
  return result;
}

}  // namespace isthmus::anatomy
