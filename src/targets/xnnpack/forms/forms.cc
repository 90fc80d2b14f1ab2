// The table of forms, and what every form asks of its values.
#include "targets/xnnpack/forms/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "ops/table.h"
#include "targets/target.h"
#include "targets/xnnpack/forms/form_families.h"
#include "targets/xnnpack/quantized.h"

namespace isthmus::xnnpack {
namespace {

std::array<const FormRow*, kOpCount> rows_by_op() {
  std::array<const FormRow*, kOpCount> rows{};
  for (const auto family : {elementwise_forms(), movement_forms(), product_forms(), pool_forms(), convert_forms()}) {
    for (const FormRow& row : family) rows[static_cast<std::size_t>(row.op)] = &row;
  }
  return rows;
}

}  // namespace

const FormRow* find_form(Op op) {
  static const auto kRows = rows_by_op();
  return kRows[static_cast<std::size_t>(op)];
}

std::vector<Op> ops_with_forms() {
  std::vector<Op> ops;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    if (find_form(static_cast<Op>(i)) != nullptr) ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

std::optional<Reason> value_refusal(const Graph& graph, ValueId id) {
  const TensorType& type = graph.type(id);
  if (type.quant) {
    if (auto reason = parameters_refusal(graph, id)) return reason;
  } else if (type.dtype != DType::kF32) {
    return Reason{ReasonCode::kDType, typed_name(graph, id)};
  }
  if (type.rank() > kMaxRank) return Reason{ReasonCode::kRank, typed_name(graph, id)};
  for (const Dim dim : type.shape) {
    const Bounds bounds = graph.exprs().bounds(dim);
    if (!bounds.max || *bounds.max > std::numeric_limits<std::int32_t>::max()) {
      return Reason{ReasonCode::kDynamicShape, typed_name(graph, id) + ", a size without an upper bound"};
    }
    if (*bounds.max <= 0) return Reason{ReasonCode::kEmpty, typed_name(graph, id)};
  }
  return std::nullopt;
}

std::optional<Reason> quantized_refusal(const Graph& graph, const Node& node, QuantizedTypes types) {
  if (auto reason = refusal(graph, node)) return reason;
  const std::string name(name_of(node.op));
  for (const DType type : {types.data, types.result}) {
    if (type != DType::kI8) return Reason{ReasonCode::kDType, fmt::format("{} of {}", name, name_of(type))};
  }
  const FormRow& form = *find_form(node.op);
  if (form.quantized != QuantizedForm::kAlike) return Reason{ReasonCode::kNoForm, name + " of int8 values"};
  return form.quantization_refusal == nullptr ? std::nullopt : form.quantization_refusal(graph, node);
}

bool has_row_form(const Graph& graph, const Node& node) {
  const FormRow* form = find_form(node.op);
  return form != nullptr && form->quantizes_rows && graph.type(node.inputs[0]).rank() >= 2;
}

bool takes_bounds(const Node& node) {
  const FormRow* form = find_form(node.op);
  return form != nullptr && form->has_bounds && form->quantized == QuantizedForm::kAlike;
}

std::optional<Reason> refusal(const Graph& graph, const Node& node) {
  if (auto reason = common_refusal(graph, node)) return reason;
  const auto fits = [](const TensorType& type) { return type.quant || type.dtype == DType::kF32; };
  const auto is_fitting = [&](ValueId id) { return fits(graph.type(id)); };
  if (!std::ranges::all_of(node.outputs, is_fitting) || !std::ranges::all_of(node.inputs, is_fitting)) {
    return type_reason(graph, node, fits);
  }
  if (auto reason = value_refusal(graph, node.outputs[0])) return reason;
  for (const ValueId input : node.inputs) {
    if (auto reason = value_refusal(graph, input)) return reason;
  }
  const FormRow* form = find_form(node.op);
  if (form == nullptr) return Reason{ReasonCode::kNoForm, operation_text(graph, node)};
  if (form->refusal != nullptr) {
    if (auto reason = form->refusal(graph, node)) return reason;
  }
  return quantization_refusal(graph, node, *form);
}

}  // namespace isthmus::xnnpack
