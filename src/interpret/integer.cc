// Finds the integer kernel of a node, or says why there is none.
#include "interpret/integer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpret/evaluate.h"
#include "interpret/integer_kernel.h"
#include "interpret/quantized_types.h"
#include "ir/quantized.h"
#include "ops/table.h"

namespace isthmus {
namespace {

// What must hold of any quantized values, whatever reads them.
std::optional<std::string> refuse_quant(const TensorType& type) {
  const Quant& quant = *type.quant;
  const auto axis = static_cast<std::size_t>(quant.axis);
  const bool is_one = quant.axis < 0;
  if (is_one ? quant.scales.size() != 1 : axis >= type.rank() || quant.zero_point != 0) return "scales without an axis";
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
  const bool is_quantized = type.dtype == DType::kI8 || type.dtype == DType::kU8 || type.dtype == DType::kI16;
  if (!is_quantized) return fmt::format("quantized values of type {}", name_of(type.dtype));
  const QuantizedRange range = quantized_range(type.dtype);
  if (quant.zero_point < range.min || quant.zero_point > range.max) {
    return fmt::format("a zero point of {} for {}", quant.zero_point, name_of(type.dtype));
  }
  return std::nullopt;
}

// Quantized values of activations.
std::optional<std::string> refuse_quantized(const TensorType& type, const IntegerKernelRow& row,
                                            IntegerKernels::Widths widths) {
  if (!type.quant) return fmt::format("{} without parameters beside quantized values", name_of(type.dtype));
  if (type.quant->axis >= 0) return "data with several scales";
  const bool is_wide = type.dtype == DType::kI16;
  if (is_wide && (widths == IntegerKernels::Widths::k8 || type.quant->zero_point != 0)) return "i16 values";
  if (type.dtype == DType::kU8 && !row.takes_u8) return "u8 values";
  if (type.dtype == DType::kI32 || type.dtype == DType::kI64)
    return fmt::format("quantized values of type {}", name_of(type.dtype));
  return std::nullopt;
}

std::optional<std::string> refuse_input(const Graph& graph, const Node& node, std::size_t input,
                                        const IntegerKernelRow& row, IntegerKernels::Widths widths) {
  const TensorType& type = graph.type(node.inputs[input]);
  switch (role_of(node.op, input)) {
    case Role::kData:
      if (row.holds == Holds::kResult) return std::nullopt;
      return refuse_quantized(type, row, widths);
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
      return fmt::format("input {} quantized", input);
  }
  return std::nullopt;
}

std::optional<std::string> refuse_weights(const Graph& graph, const Node& node, const IntegerKernelRow& row,
                                          IntegerKernels::Widths widths) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (role_of(node.op, i) != Role::kWeight) continue;
    if (auto reason = refuse_input(graph, node, i, row, widths)) return reason;
  }
  return std::nullopt;
}

std::optional<std::string> refuse_values(const Graph& graph, const Node& node, const IntegerKernelRow& row,
                                         IntegerKernels::Widths widths) {
  const TensorType& result = graph.type(node.outputs[0]);
  for (const ValueId input : node.inputs) {
    if (!graph.type(input).quant) continue;
    if (auto reason = refuse_quant(graph.type(input))) return reason;
  }
  if (result.quant) {
    if (auto reason = refuse_quant(result)) return reason;
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (auto reason = refuse_input(graph, node, i, row, widths)) return reason;
    const bool is_data = role_of(node.op, i) == Role::kData;
    if (is_data && row.shares &&
        (graph.type(node.inputs[i]).quant != result.quant || graph.type(node.inputs[i]).dtype != result.dtype)) {
      return fmt::format("input {} has other parameters than the result", i);
    }
  }
  if (row.holds != Holds::kData && result.dtype != DType::kBool) return refuse_quantized(result, row, widths);
  if (result.quant) return "a quantized result";
  return std::nullopt;
}

}  // namespace

IntegerKernels::IntegerKernels(Widths widths, std::initializer_list<std::span<const IntegerKernelRow>> families)
    : widths_(widths) {
  for (const auto family : families) {
    for (const IntegerKernelRow& row : family) {
      auto& place = rows_.at(static_cast<std::size_t>(row.op));
      CHECK(!place, "two integer kernels for " + std::string(name_of(row.op)));
      place = row;
    }
  }
}

std::optional<std::string> IntegerKernels::refusal(const Graph& graph, const Node& node) const {
  const auto& row = rows_.at(static_cast<std::size_t>(node.op));
  if (!row) return fmt::format("no integer kernel for {}", name_of(node.op));
  const bool is_quantized = graph.type(node.inputs[0]).quant || graph.type(node.outputs[0]).quant;
  if (row->holds == Holds::kEither && !is_quantized) return refuse_weights(graph, node, *row, widths_);
  if (auto reason = refuse_values(graph, node, *row, widths_)) return reason;
  return row->refusal == nullptr ? std::nullopt : row->refusal({graph, node});
}

Expected<IntegerNode> IntegerKernels::prepare(const Graph& graph, const Node& node) const {
  if (auto reason = refusal(graph, node)) return fail(ErrorKind::kUnsupported, *std::move(reason));
  const IntegerKernelRow& row = *rows_[static_cast<std::size_t>(node.op)];
  if (row.prepare != nullptr) return row.prepare(graph, node);
  return [&](std::span<const Tensor> inputs, const SymbolValues& symbols) -> Expected<Tensor> {
    const ConcreteNode numbers = TRY(concrete(graph, node, symbols));
    const KernelContext plain{inputs, numbers.attrs, graph.type(node.outputs[0]).dtype, numbers.sizes};
    return row.kernel({plain, graph, node});
  };
}

Expected<IntegerNode> prepare_integer_node(const Graph& graph, const Node& node, const IntegerKernels& kernels) {
  if (is_quantized(graph, node)) return kernels.prepare(graph, node);
  return [&](std::span<const Tensor> inputs, const SymbolValues& symbols) {
    return evaluate_node(graph, node, inputs, symbols);
  };
}

Tensor quantized_tensor(const Tensor& numbers, const TensorType& type) {
  const QuantizedRange range = quantized_range(type.dtype);
  Tensor result(type.dtype, numbers.sizes());
  dispatch(type.dtype, [&]<class Int>(Int) {
    const auto out = result.mutable_data<Int>();
    const auto in = numbers.data<float>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double q = nearest_quantized(static_cast<double>(in[i]), *type.quant);
      out[i] = static_cast<Int>(std::clamp<double>(std::isnan(q) ? 0.0 : q, range.min, range.max));
    }
  });
  return result;
}

IntegerInterpreter::IntegerInterpreter(const Graph& graph, const IntegerKernels& kernels)
    : graph_(graph), kernels_(kernels), nodes_(graph.nodes().size()) {}

Expected<const IntegerNode*> IntegerInterpreter::prepared(const Node& node) {
  const std::lock_guard lock(mutex_);
  IntegerNode& place = nodes_[static_cast<std::size_t>(&node - graph_.nodes().data())];
  if (!place) place = TRY(prepare_integer_node(graph_, node, kernels_));
  return &place;
}

Expected<std::vector<std::optional<Tensor>>> IntegerInterpreter::run(std::span<const Tensor> inputs,
                                                                     const Observer& observer, StateValues* states) {
  const auto evaluate = [&](const Graph&, const Node& node, std::span<const Tensor> arguments,
                            const SymbolValues& symbols) -> Expected<Tensor> {
    return (*TRY(prepared(node)))(arguments, symbols);
  };
  return interpret_by(evaluate, graph_, inputs, observer, states);
}

Expected<std::vector<std::optional<Tensor>>> interpret_integers(const Graph& graph, std::span<const Tensor> inputs,
                                                                const IntegerKernels& kernels, const Observer& observer,
                                                                StateValues* states) {
  // Nothing is kept of a node that runs once.
  const auto evaluate = [&](const Graph& whole, const Node& node, std::span<const Tensor> arguments,
                            const SymbolValues& symbols) -> Expected<Tensor> {
    return TRY(prepare_integer_node(whole, node, kernels))(arguments, symbols);
  };
  return interpret_by(evaluate, graph, inputs, observer, states);
}

}  // namespace isthmus
