// Finds the integer kernel of a node, or says why there is none.
#include "exec/integer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "exec/evaluate.h"
#include "exec/integer_constants.h"
#include "exec/integer_dynamic.h"
#include "exec/integer_kernel.h"
#include "ops/table.h"

namespace isthmus {
namespace {

using IntegerTable = std::array<const IntegerKernelDef*, kOpCount>;

IntegerTable make_integer_table() {
  IntegerTable table{};
  for (const auto family :
       {integer_type_kernels(), integer_movement_kernels(), integer_product_kernels(), integer_binary_kernels(),
        integer_unary_kernels(), integer_reduce_kernels(), integer_pool_kernels(), integer_image_kernels(),
        integer_softmax_kernels(), integer_norm_kernels()}) {
    for (const IntegerKernelDef& row : family) {
      const IntegerKernelDef*& place = table.at(static_cast<std::size_t>(row.op));
      CHECK(place == nullptr, "two integer kernels for " + std::string(name_of(row.op)));
      place = &row;
    }
  }
  return table;
}

// What must hold of any codes, whatever reads them.
std::optional<std::string> refuse_quant(const TensorType& type) {
  const Quant& quant = *type.quant;
  const auto axis = static_cast<std::size_t>(quant.axis);
  const bool is_one = quant.axis < 0;
  if (is_one ? quant.scales.size() != 1 : axis >= type.rank() || quant.zero_point != 0) return "scales of no slices";
  if (!is_one && !type.shape[axis].is(static_cast<std::int64_t>(quant.scales.size()))) {
    return fmt::format("{} scales along axis {}", quant.scales.size(), quant.axis);
  }
  for (const float scale : quant.scales) {
    if (!std::isnormal(scale) || scale < 0) return fmt::format("a scale of {}", scale);
  }
  if (type.dtype == DType::kI32 || type.dtype == DType::kI64) {
    if (quant.zero_point != 0)
      return fmt::format("a zero point of {} beside {}", quant.zero_point, name_of(type.dtype));
    return std::nullopt;
  }
  const bool is_code = type.dtype == DType::kI8 || type.dtype == DType::kU8 || type.dtype == DType::kI16;
  if (!is_code) return fmt::format("codes of {}", name_of(type.dtype));
  const CodeRange range = code_range(type.dtype);
  if (quant.zero_point < range.min || quant.zero_point > range.max) {
    return fmt::format("a zero point of {} for {}", quant.zero_point, name_of(type.dtype));
  }
  return std::nullopt;
}

// Codes of activations.
std::optional<std::string> refuse_codes(const TensorType& type, const IntegerKernelDef& row, Arithmetic arithmetic) {
  if (!type.quant) return fmt::format("{} without parameters beside codes", name_of(type.dtype));
  if (type.quant->axis >= 0) return "data with several scales";
  const bool is_wide = type.dtype == DType::kI16;
  if (is_wide && (arithmetic == Arithmetic::kXnnpack || type.quant->zero_point != 0)) return "codes of i16";
  if (type.dtype == DType::kU8 && !row.takes_u8) return "codes of u8";
  if (type.dtype == DType::kI32 || type.dtype == DType::kI64) return fmt::format("codes of {}", name_of(type.dtype));
  return std::nullopt;
}

std::optional<std::string> refuse_input(const Graph& graph, const Node& node, std::size_t input,
                                        const IntegerKernelDef& row, Arithmetic arithmetic) {
  const TensorType& type = graph.type(node.inputs[input]);
  switch (role_of(node.op, input)) {
    case Role::kData:
      if (row.holds == Holds::kResult) return std::nullopt;
      return refuse_codes(type, row, arithmetic);
    case Role::kWeight:
      if (type.quant && type.dtype == DType::kI8 && type.quant->zero_point == 0) return std::nullopt;
      return fmt::format("a weight of {}", type_text(graph, type));
    case Role::kBias:
      if (type.quant && (type.dtype == DType::kI32 || type.dtype == DType::kI64)) return std::nullopt;
      return fmt::format("a bias of {}", type_text(graph, type));
    case Role::kIndex:
    case Role::kCondition:
    case Role::kParameter:
      if (!type.quant) return std::nullopt;
      return fmt::format("input {} in codes", input);
  }
  return std::nullopt;
}

std::optional<std::string> refuse_values(const Graph& graph, const Node& node, const IntegerKernelDef& row,
                                         Arithmetic arithmetic) {
  const TensorType& result = graph.type(node.outputs[0]);
  for (const ValueId input : node.inputs) {
    if (!graph.type(input).quant) continue;
    if (auto reason = refuse_quant(graph.type(input))) return reason;
  }
  if (result.quant) {
    if (auto reason = refuse_quant(result)) return reason;
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (auto reason = refuse_input(graph, node, i, row, arithmetic)) return reason;
    const bool is_data = role_of(node.op, i) == Role::kData;
    if (is_data && row.shares &&
        (graph.type(node.inputs[i]).quant != result.quant || graph.type(node.inputs[i]).dtype != result.dtype)) {
      return fmt::format("input {} has other parameters than the result", i);
    }
  }
  if (row.holds != Holds::kData) return refuse_codes(result, row, arithmetic);
  if (result.quant) return "a result in codes";
  return std::nullopt;
}

}  // namespace

const IntegerKernelDef* find_integer_kernel(Op op) {
  static const IntegerTable kTable = make_integer_table();
  return kTable.at(static_cast<std::size_t>(op));
}

bool is_quantized(const Graph& graph, const Node& node) {
  const auto holds_codes = [&](ValueId id) { return graph.type(id).quant.has_value(); };
  return std::ranges::any_of(node.inputs, holds_codes) || std::ranges::any_of(node.outputs, holds_codes);
}

std::optional<std::string> integer_refusal(const Graph& graph, const Node& node, Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::kXnnpack && quantizes_rows(graph, node)) return std::nullopt;
  const IntegerKernelDef* row = find_integer_kernel(node.op);
  if (row == nullptr || !(arithmetic == Arithmetic::kXnnpack ? row->in_xnnpack : row->in_tosa)) {
    return fmt::format("there is no integer kernel for {}", name_of(node.op));
  }
  if (auto reason = refuse_values(graph, node, *row, arithmetic)) return reason;
  return row->refusal == nullptr ? std::nullopt : row->refusal({graph, node, arithmetic});
}

Expected<Tensor> evaluate_integer_node(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                       const SymbolValues& symbols, Arithmetic arithmetic) {
  if (!is_quantized(graph, node)) return evaluate_node(graph, node, inputs, symbols);
  if (auto reason = integer_refusal(graph, node, arithmetic)) {
    return fail(ErrorKind::kUnsupported, *std::move(reason));
  }
  const ConcreteNode numbers = TRY(concrete(graph, node, symbols));
  const KernelContext plain{inputs, numbers.attrs, graph.type(node.outputs[0]).dtype, numbers.sizes};
  if (quantizes_rows(graph, node)) return linear_of_rows(graph, node, plain);
  return find_integer_kernel(node.op)->kernel({plain, graph, node, arithmetic});
}

Tensor codes_of(const Tensor& numbers, const TensorType& type) {
  const CodeRange range = code_range(type.dtype);
  const auto scale = static_cast<double>(type.quant->scale());
  Tensor result(type.dtype, numbers.sizes());
  dispatch(type.dtype, [&]<class Code>(Code) {
    const auto out = result.mutable_data<Code>();
    const auto in = numbers.data<float>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double code = std::nearbyint(static_cast<double>(in[i]) / scale) + type.quant->zero_point;
      out[i] = static_cast<Code>(std::clamp<double>(std::isnan(code) ? 0.0 : code, range.min, range.max));
    }
  });
  return result;
}

Expected<std::vector<std::optional<Tensor>>> interpret_integers(const Graph& graph, std::span<const Tensor> inputs,
                                                                Arithmetic arithmetic, const Observer& observer,
                                                                StateValues* states) {
  const auto evaluate = [&](const Graph& whole, const Node& node, std::span<const Tensor> arguments,
                            const SymbolValues& symbols) {
    return evaluate_integer_node(whole, node, arguments, symbols, arithmetic);
  };
  return interpret_by(evaluate, graph, inputs, observer, states);
}

}  // namespace isthmus
