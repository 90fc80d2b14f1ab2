// The stages of planning, in order.
#include "quantize/plan/plan.h"

#include <utility>

#include "quantize/plan/groups.h"
#include "quantize/plan/parameters.h"
#include "quantize/plan/ratios.h"
#include "quantize/plan/reader_params.h"
#include "quantize/plan/states.h"
#include "quantize/plan/warnings.h"
#include "quantize/widths/more_float.h"
#include "quantize/widths/widths.h"

namespace isthmus {
namespace {

// Pins that are not what their groups have now.
Pins moved_pins(const QuantPlan& plan, const Pins& pins) {
  Pins moved;
  for (const auto& [value, pin] : pins) {
    const Group* group = plan.group(value);
    if (group != nullptr && !(group->quant == pin.quant)) moved[value] = {group->quant, pin.storage};
  }
  return moved;
}

// A clamp and the node that it is a part of are one: a rule for either is for both.
void join_fused(const Graph& graph, const std::vector<bool>& is_fused, std::vector<NodeSettings>& settings) {
  for (std::size_t n = 0; n < is_fused.size(); ++n) {
    if (!is_fused[n]) continue;
    NodeSettings& clamp = settings[n];
    NodeSettings& before = settings[graph[graph.nodes()[n].inputs[0]].index];
    clamp.in_float = before.in_float = clamp.in_float || before.in_float;
    if (clamp.is_storage_given == before.is_storage_given) continue;
    NodeSettings& asked = clamp.is_storage_given ? clamp : before;
    clamp.storage = before.storage = asked.storage;
    clamp.is_storage_given = before.is_storage_given = true;
  }
}

}  // namespace

Expected<QuantPlan> plan(const Graph& graph, const TargetDesc& target, const Statistics* statistics,
                         const QuantConfig& config, Diagnostics& diagnostics) {
  std::vector<NodeSettings> settings = settings_of(graph, config, diagnostics);
  const std::vector<bool> is_fused = fused_clamps(graph, target);
  join_fused(graph, is_fused, settings);
  Precisions precisions = choose_precisions(graph, target, settings, config);
  const Pins pins = pins_of(graph);
  const std::vector<DType> asked = asked_widths(graph, settings, config);
  Ranges ranges_asked(graph, statistics, settings, asked, pins);
  const bool is_quantized = !pins.empty() || pinned_flow(graph).has_rows;
  if (target.integers.has_float && config.widen > 0 && ranges_asked.is_known() && !is_quantized) {
    const auto wanted = TRY(more_float(graph, target, precisions, settings, config, ranges_asked));
    precisions = choose_precisions(graph, target, settings, config, wanted);
  }
  ChosenWidths widths = TRY(choose_widths(graph, target, precisions.of_node, settings, config, ranges_asked));
  const std::vector<DType>& storage = widths.of_value;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (precisions.causes[n] != PrecisionCause::kOnlyIntegers) continue;
    const bool is_widened = storage[graph.nodes()[n].outputs[0].index] != settings[n].storage;
    if (is_widened) precisions.causes[n] = PrecisionCause::kWide;
  }
  Ranges ranges(graph, statistics, settings, storage, pins);
  Grouping grouping = TRY(group_values({graph, target, precisions.of_node, is_fused, storage, pins, config}, ranges));

  QuantPlan plan;
  plan.precision = std::move(precisions.of_node);
  plan.causes = std::move(precisions.causes);
  plan.reasons = std::move(precisions.reasons);
  plan.group_of = std::move(grouping.group_of);
  plan.groups = std::move(grouping.groups);
  plan.cuts = std::move(grouping.cuts);
  for (std::uint32_t i = 0; i < plan.groups.size(); ++i) {
    if (!TRY(choose_parameters(graph, pins, is_fused, ranges, plan.groups[i]))) plan.unknown.push_back(i);
  }
  plan.has_ranges = ranges.is_known() || (is_quantized && plan.unknown.empty());
  TRY(narrow_readers(graph, target.integers, widths, ranges, plan));
  TRY(choose_constants(graph, target, storage, ranges, plan));
  if (plan.has_ranges) {
    TRY(keep_ratios(graph, target, plan));
    warn_of_joins(graph, plan, ranges, diagnostics);
    plan.moved_pins = moved_pins(plan, pins);
  }
  choose_states(graph, config, plan);
  warn_of_pins(graph, plan, config, diagnostics);
  if (is_quantized && !plan.unknown.empty()) warn_of_unknown(graph, plan, diagnostics);
  return plan;
}

}  // namespace isthmus
