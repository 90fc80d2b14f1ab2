// The stages of planning, and parameters from ranges.
#include "quantize/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/portable_math.h"
#include "ir/literals.h"
#include "ops/table.h"
#include "quantize/config/grid.h"
#include "quantize/plan/groups.h"
#include "quantize/plan/precision.h"
#include "quantize/plan/ratios.h"
#include "quantize/plan/reader_params.h"
#include "quantize/plan/states.h"
#include "quantize/widths/more_float.h"
#include "quantize/widths/widths.h"

namespace isthmus {
namespace {

// Whether the node's result holds numbers that none of its inputs has.
bool adds_numbers(const Node& node) {
  const auto* pad = std::get_if<PadAttrs>(&node.attrs);
  return pad != nullptr && pad->mode == PadMode::kConstant && pad->value != 0;
}

// What pads add must be among the quantized values, whether or not they share with what they pad.
Range with_pads(const Graph& graph, const Group& group, Range range) {
  for (const Member& member : group.members) {
    const Node* maker = graph.producer(member.value);
    if (maker == nullptr || !adds_numbers(*maker)) continue;
    const double added = std::get<PadAttrs>(maker->attrs).value;
    if (std::isfinite(added)) range = {std::min(range.min, added), std::max(range.max, added)};
  }
  return range;
}

// The members whose numbers make the range. What moves or joins the numbers of other members adds nothing, and what
// stands before a fused clamp is never seen.
std::vector<ValueId> counting_members(const Graph& graph, const Group& group, const std::vector<bool>& is_fused) {
  std::map<NodeId, std::size_t> ties;
  std::set<ValueId> left_out;
  for (const Tie& tie : group.ties) {
    if (is_fused[tie.node.index]) {
      left_out.insert(graph[tie.node].inputs[tie.input]);
    } else {
      ++ties[tie.node];
    }
  }
  for (const auto& [id, count] : ties) {
    const Node& node = graph[id];
    std::size_t data_inputs = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) data_inputs += is_data_input(node.op, i) ? 1 : 0;
    if (count == data_inputs && !adds_numbers(node)) left_out.insert(node.outputs[0]);
  }
  std::vector<ValueId> result;
  for (const Member& member : group.members) {
    if (!left_out.contains(member.value)) result.push_back(member.value);
  }
  return result;
}

// Of a group of which no numbers are known. Any would do, but bounds of a clamp that could be told apart should be.
Quant unknown_parameters(const Graph& graph, const Group& group) {
  std::optional<Range> narrowest;
  for (const Member& member : group.members) {
    const Node* maker = graph.producer(member.value);
    const auto* clamp = maker == nullptr ? nullptr : std::get_if<ClampAttrs>(&maker->attrs);
    if (clamp == nullptr || !std::isfinite(clamp->min) || !std::isfinite(clamp->max) || clamp->min >= clamp->max) {
      continue;
    }
    if (!narrowest || clamp->max - clamp->min < narrowest->max - narrowest->min) narrowest = {clamp->min, clamp->max};
  }
  if (!narrowest) return {{1.0F}, 0, -1};
  const double scale = std::clamp((narrowest->max - narrowest->min) / 2, kMinScale, 1.0);
  Quant quant{{static_cast<float>(scale)}, 0, -1};
  if (group.storage == DType::kI16) return quant;
  const double middle = (narrowest->min + narrowest->max) / 2;
  quant.zero_point = static_cast<std::int32_t>(std::clamp(std::round(-middle / scale), -128.0, 127.0));
  return quant;
}

void count_losses(Group& group) {
  const double whole = group.range.max - group.range.min;
  for (Member& member : group.members) {
    const double own = member.own.max - member.own.min;
    member.bits_lost = own > 0 && whole > own ? portable::log2(whole / own) : 0;
  }
}

void warn_of_joins(const Graph& graph, const QuantPlan& plan, Ranges& ranges, Diagnostics& diagnostics) {
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (plan.precision[n] != Precision::kQuantized || def(node.op).flow != QFlow::kJoinsInputs) continue;
    const Value* narrow = nullptr;
    const Value* wide = nullptr;
    double least = 0;
    double most = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data_input(node.op, i)) continue;
      const auto range = ranges.own(node.inputs[i]);
      if (!range || !(range->max > range->min)) continue;
      const double own = range->max - range->min;
      if (narrow == nullptr || own < least) std::tie(narrow, least) = std::pair(&graph[node.inputs[i]], own);
      if (wide == nullptr || own > most) std::tie(wide, most) = std::pair(&graph[node.inputs[i]], own);
    }
    const double worth_saying = kJoinBits + spare_bits(plan.group(node.outputs[0])->storage);
    if (narrow == nullptr || portable::log2(most / least) < worth_saying) continue;
    diagnostics.warn(
        "join-loses-bits", graph[node.outputs[0]].name,
        fmt::format("{} writes one scale: %{} (range {:.4g}) loses {:.1f} bits beside %{} (range "
                    "{:.4g}); scale one of them in the model, or return them apart",
                    node_text(graph, node), narrow->name, least, portable::log2(most / least), wide->name, most));
  }
}

}  // namespace

namespace {

// What the archive says of values that share parameters, where it does not say one thing.
void warn_of_pins(const Graph& graph, const QuantPlan& plan, const QuantConfig& config, Diagnostics& diagnostics) {
  std::map<NodeId, std::vector<const Cut*>> by_node;
  for (const Cut& cut : plan.cuts) {
    const ValueId input = graph[cut.tie.node].inputs[cut.tie.input];
    // What is made in float is rounded for each of its readers.
    if (cut.cause != CutCause::kPins || !is_made_quantized(graph, plan.precision, config, input)) continue;
    by_node[cut.tie.node].push_back(&cut);
  }
  for (const auto& [id, cuts] : by_node) {
    const Node& node = graph[id];
    std::set<std::string> values;
    for (const Cut* cut : cuts) values.insert("%" + graph[node.inputs[cut->tie.input]].name);
    const std::string& name = graph[node.outputs[0]].name;
    diagnostics.warn("pins-disagree", name,
                     fmt::format("{} %{}{} needs one set of parameters: {}; a rescale is put on {}", name_of(node.op),
                                 name, origin_suffix(node.origin), cuts[0]->because, fmt::join(values, ", ")));
  }
}

// Where the archive has quantized a part of the model only.
void warn_of_unknown(const Graph& graph, const QuantPlan& plan, Diagnostics& diagnostics) {
  constexpr std::size_t kMaxNames = 5;
  std::vector<std::string> names;
  for (const std::uint32_t group : plan.unknown) {
    if (names.size() < kMaxNames) names.push_back("%" + graph[plan.groups[group].members[0].value].name);
  }
  const std::size_t others = plan.unknown.size() - names.size();
  diagnostics.warn(kNotPinned, names[0].substr(1),
                   fmt::format("the archive gives no parameters to {}{}: their ranges need data (--calibrate)",
                               fmt::join(names, ", "), others == 0 ? "" : fmt::format(" and {} more", others)));
}

// The parameters of a group, and whether anything is known of it.
Expected<bool> choose_parameters(const Graph& graph, const Pins& pins, const std::vector<bool>& is_fused,
                                 Ranges& ranges, Group& group) {
  if (group.pin) {
    const Pin& pin = pins.at(*group.pin);
    group.quant = pin.quant;
    group.range = range_of(pin);
    count_losses(group);
    return true;
  }
  std::vector<ValueId> counting = counting_members(graph, group, is_fused);
  counting.insert(counting.end(), group.held.begin(), group.held.end());
  const bool is_known = std::ranges::all_of(counting, [&](ValueId id) { return ranges.is_known(id); });
  if (!is_known) {
    group.quant = unknown_parameters(graph, group);
    return false;
  }
  group.range = with_pads(graph, group, TRY(ranges.shared(counting)));
  group.quant = parameters_of(group.range, group.storage);
  count_losses(group);
  return true;
}

// Pins that are not what their groups have now.
Pins moved_pins(const QuantPlan& plan, const Pins& pins) {
  Pins moved;
  for (const auto& [value, pin] : pins) {
    const Group* group = plan.group(value);
    if (group != nullptr && !(group->quant == pin.quant)) moved[value] = {group->quant, pin.storage};
  }
  return moved;
}

}  // namespace

Quant parameters_of(Range range, DType storage) {
  const double min = std::min(range.min, 0.0);
  const double max = std::max(range.max, 0.0);
  Quant quant;
  if (storage == DType::kI16) {
    const double most = max > min ? std::max(-min, max) : 1;  // of what is always zero any range will do
    quant.scales = {static_cast<float>(std::max(most / 32767, kMinScale))};
    return quant;
  }
  const double scale = max > min ? std::max((max - min) / 255, kMinScale) : 1;
  quant.scales = {static_cast<float>(scale)};
  const double zero_point = std::round(-128 - min / static_cast<double>(quant.scales[0]));
  quant.zero_point = static_cast<std::int32_t>(std::clamp(zero_point, -128.0, 127.0));
  return quant;
}

namespace {

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
