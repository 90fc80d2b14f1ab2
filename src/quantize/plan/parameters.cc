// A group's range is that of the members whose numbers count.
#include "quantize/plan/parameters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/portable_math.h"
#include "ops/table.h"
#include "quantize/config/grid.h"

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

}  // namespace

Quant parameters_of(Range range, DType storage) {
  const double min = std::min(range.min, 0.0);
  const double max = std::max(range.max, 0.0);
  Quant quant;
  if (storage == DType::kI16) {
    const double magnitude = max > min ? std::max(-min, max) : 1;  // of what is always zero any range will do
    quant.scales = {static_cast<float>(std::max(magnitude / 32767, kMinScale))};
    return quant;
  }
  const double scale = max > min ? std::max((max - min) / 255, kMinScale) : 1;
  quant.scales = {static_cast<float>(scale)};
  const double zero_point = std::round(-128 - min / static_cast<double>(quant.scales[0]));
  quant.zero_point = static_cast<std::int32_t>(std::clamp(zero_point, -128.0, 127.0));
  return quant;
}

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

}  // namespace isthmus
