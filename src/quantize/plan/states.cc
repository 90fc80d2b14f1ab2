// State by state, when groups and parameters are known.
#include "quantize/plan/states.h"

#include <algorithm>

#include "interpret/quantized_types.h"
#include "interpret/tensor.h"
#include "quantize/plan/quantized_values.h"

namespace isthmus {
namespace {

bool reads(const Graph& graph, const Tie& tie, ValueId id) { return graph[tie.node].inputs[tie.input] == id; }

// Whether the initial value lies among the quantized values.
bool has_quantized_form(const Constant& initial, const Group& group) {
  if (!initial.data) return true;  // a graph read from text, which is not run
  const QuantizedRange limits = quantized_range(group.storage);
  const auto scale = static_cast<double>(group.quant.scale());
  const double min = scale * (static_cast<double>(limits.min) - group.quant.zero_point - 0.5);
  const double max = scale * (static_cast<double>(limits.max) - group.quant.zero_point + 0.5);
  const Tensor data = Tensor::from(*initial.data);
  return std::ranges::all_of(data.data<float>(), [&](float number) {
    return static_cast<double>(number) >= min && static_cast<double>(number) <= max;
  });
}

}  // namespace

void choose_states(const Graph& graph, const QuantConfig& config, QuantPlan& plan) {
  for (const GraphState& state : graph.states()) {
    const auto next = graph.next_value(state);
    const auto group = plan.group_of[state.value.index];
    const bool is_one = next && group && graph.type(state.value).dtype == DType::kF32 &&
                        plan.group_of[next->index] == group && is_made_quantized(graph, plan.precision, config, *next);
    const auto is_reader = [&](const auto& row) { return reads(graph, row.first, state.value); };
    const bool is_read_otherwise =
        std::ranges::any_of(plan.cuts, [&](const Cut& cut) { return reads(graph, cut.tie, state.value); }) ||
        std::ranges::any_of(plan.narrowed, is_reader);
    if (is_one && !is_read_otherwise && (!plan.has_ranges || has_quantized_form(state.initial, plan.groups[*group]))) {
      plan.quantized_states.insert(state.value);
    }
  }
}

}  // namespace isthmus
