// Node by node, once all groups have their parameters.
#include "quantize/plan/reader_params.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "interpret/quantized_types.h"
#include "interpret/tensor.h"
#include "quantize/config/grid.h"
#include "quantize/plan/parameters.h"

namespace isthmus {
namespace {

// Of constant data that a node reads: as wide as what it reads besides, or, where that costs nothing, as its result.
DType constant_storage(const Graph& graph, const IntegerRules& rules, NodeId id, const std::vector<DType>& storage,
                       const std::map<Tie, ReaderParams>& narrowed) {
  const Node& node = graph[id];
  std::optional<DType> widest;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!is_data_input(node.op, i) || graph.constant(node.inputs[i]) != nullptr) continue;
    const DType type = narrowed.contains({id, i}) ? DType::kI8 : storage[node.inputs[i].index];
    widest = widest ? wider(*widest, type) : type;
  }
  const DType result = storage[node.outputs[0].index];
  const bool follows_result = rules.wide_reads != nullptr && rules.wide_reads(node) != WideReads::kNever;
  if (!widest) return result;
  return follows_result ? wider(*widest, result) : *widest;
}

// Those of a grid that the numbers lie on, as an archive that is quantized has it, where 8 bits can number it.
Quant constant_parameters(const Graph& graph, ValueId id, Range range, DType storage) {
  constexpr int kMaxSteps = 255;
  const Constant* constant = graph.constant(id);
  const bool is_searched = storage == DType::kI8 && constant != nullptr && constant->data;
  const Tensor data = is_searched ? Tensor::from(*constant->data) : Tensor();
  const auto step = is_searched && data.dtype() == DType::kF32 ? grid_of(data.data<float>(), kMaxSteps) : std::nullopt;
  if (!step) return parameters_of(range, storage);
  const double min = std::round(std::min(range.min, 0.0) / static_cast<double>(*step));
  const double max = std::round(std::max(range.max, 0.0) / static_cast<double>(*step));
  if (max - min > kMaxSteps) return parameters_of(range, storage);
  return {{*step}, static_cast<std::int32_t>(-128 - min), -1};
}

}  // namespace

Expected<void> choose_constants(const Graph& graph, const TargetDesc& target, const std::vector<DType>& storage,
                                Ranges& ranges, QuantPlan& plan) {
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (plan.precision[n] != Precision::kQuantized || must_share(target.integers, node.op)) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!is_data_input(node.op, i) || graph.constant(input) == nullptr) continue;
      const DType type = constant_storage(graph, target.integers, NodeId{n}, storage, plan.narrowed);
      const Quant quant =
          plan.has_ranges ? constant_parameters(graph, input, TRY(ranges.own(input)), type) : Quant{{1.0F}, 0, -1};
      plan.constants[{NodeId{n}, i}] = {type, quant};
    }
  }
  return {};
}

Expected<void> narrow_readers(const Graph& graph, const IntegerRules& rules, const ChosenWidths& widths, Ranges& ranges,
                              QuantPlan& plan) {
  const std::vector<DType>& storage = widths.of_value;
  if (rules.wide_reads == nullptr) return {};
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (plan.precision[n] != Precision::kQuantized || must_share(rules, node.op)) continue;
    std::vector<std::size_t> wide;
    bool has_narrow = false;
    bool shall_narrow = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data_input(node.op, i) || graph.constant(node.inputs[i]) != nullptr) continue;
      if (storage[node.inputs[i].index] == DType::kI16) {
        wide.push_back(i);
        shall_narrow = shall_narrow || widths.narrow_reads.contains({NodeId{n}, i});
      } else {
        has_narrow = true;
      }
    }
    if (wide.empty()) continue;
    const bool mixes = has_narrow && rules.wide_reads(node) == WideReads::kNever;
    if (!mixes && !shall_narrow &&
        !rules.refusal(graph, node, QuantizedTypes(DType::kI16, storage[node.outputs[0].index])))
      continue;
    for (const std::size_t i : wide) {
      const Group& group = *plan.group(node.inputs[i]);
      const Range range = group.pin || !plan.has_ranges ? group.range : TRY(ranges.own(node.inputs[i], DType::kI8));
      plan.narrowed[{NodeId{n}, i}] = {DType::kI8, plan.has_ranges ? parameters_of(range, DType::kI8) : Quant{{1.0F}}};
    }
  }
  return {};
}

}  // namespace isthmus
