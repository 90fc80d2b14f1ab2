// Forms of conversions: quantize, dequantize, requantize.
#include "targets/xnnpack/forms/form_families.h"
#include "targets/xnnpack/lowering.h"

namespace isthmus::xnnpack {
namespace {

void convert(Lowering& lowering, const Node&) {
  const std::uint32_t input = lowering.input(0);
  lowering.append({xnn::NodeKind::kConvert, {input}, {lowering.result()}, {}, 0, {}, 0});
}

// The delegate has parameters of quantized values in the types alone.
std::optional<Reason> refuse_parameters(const Graph&, const Node& node) {
  if (node.inputs.size() == 1) return std::nullopt;
  return Reason{ReasonCode::kNoForm, "parameters that are tensors"};
}

template <bool from_quantized, bool to_quantized>
std::optional<Reason> refuse_types(const Graph& graph, const Node& node) {
  if (auto reason = refuse_parameters(graph, node)) return reason;
  const TensorType& from = graph.type(node.inputs[0]);
  const TensorType& to = graph.type(node.outputs[0]);
  if (from.quant.has_value() == from_quantized && to.quant.has_value() == to_quantized) return std::nullopt;
  return Reason{ReasonCode::kDType, type_text(graph, from) + " to " + type_text(graph, to)};
}

// All quantized values that there are: the delegate knows no smaller range.
std::optional<Reason> refuse_quantize(const Graph& graph, const Node& node) {
  if (auto reason = refuse_types<false, true>(graph, node)) return reason;
  const auto& attrs = std::get<QuantizeAttrs>(node.attrs);
  if (attrs.min <= -128 && attrs.max >= 127) return std::nullopt;
  return Reason{ReasonCode::kNoForm, "a range smaller than the type's"};
}

constexpr FormRow kConvertForms[] = {
    {.op = Op::kQuantize,
     .order = same_order,
     .refusal = refuse_quantize,
     .lower = convert,
     .quantized = QuantizedForm::kConverts},
    {.op = Op::kDequantize,
     .order = same_order,
     .refusal = refuse_types<true, false>,
     .lower = convert,
     .quantized = QuantizedForm::kConverts},
    {.op = Op::kRescale,
     .order = same_order,
     .refusal = refuse_types<true, true>,
     .lower = convert,
     .quantized = QuantizedForm::kConverts},
};

}  // namespace

std::span<const FormRow> convert_forms() { return kConvertForms; }

}  // namespace isthmus::xnnpack
