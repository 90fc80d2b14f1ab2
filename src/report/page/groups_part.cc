// Values that share parameters, and what that costs them.
#include <algorithm>

#include "report/page/parts.h"

namespace isthmus::page {
namespace {

// The node that runs for a value of the model; null for inputs, constants and what became part of another node.
Json node_of(const Outcome& outcome, ValueId of_model) {
  if (outcome.model.producer(of_model) == nullptr) return nullptr;
  const std::optional<NodeId> runs = outcome.in_graph[outcome.model[of_model].index];
  return runs ? Json(runs->index) : Json(nullptr);
}

Json range_json(const Range& range) { return {brief(range.min), brief(range.max)}; }

}  // namespace

Json groups_part(const Known& known) {
  const Outcome& outcome = known.outcome;
  Json groups = Json::array();
  Json cuts = Json::array();
  if (outcome.plan == nullptr) return {{"rows", groups}, {"cuts", cuts}, {"has_ranges", false}};
  const QuantPlan& plan = *outcome.plan;
  for (const Group& group : plan.groups) {
    Json members = Json::array();
    for (const Member& member : group.members) {
      Json row{{"value", outcome.model[member.value].name}, {"node", node_of(outcome, member.value)}};
      if (member.own.max > member.own.min) row["own"] = range_json(member.own);
      if (member.bits_lost > 0) row["bits_lost"] = brief(member.bits_lost);
      members.push_back(std::move(row));
    }
    Json row{{"storage", name_of(group.storage)}, {"members", std::move(members)}};
    if (plan.has_ranges || group.pin) {
      row["range"] = range_json(group.range);
      row["scale"] = brief(group.quant.scale());
      row["zero_point"] = group.quant.zero_point;
    }
    if (group.pin) row["pin"] = outcome.model[*group.pin].name;
    groups.push_back(std::move(row));
  }
  for (const Cut& cut : plan.cuts) {
    const Node& reader = outcome.model[cut.tie.node];
    const ValueId value = reader.inputs[cut.tie.input];
    cuts.push_back({{"value", outcome.model[value].name},
                    {"reader", node_name(outcome.model, reader)},
                    {"node", node_of(outcome, reader.outputs[0])},
                    {"because", cut.because},
                    {"bits", brief(cut.bits)},
                    {"bytes", cut.bytes}});
  }
  return {{"rows", std::move(groups)}, {"cuts", std::move(cuts)}, {"has_ranges", plan.has_ranges}};
}

}  // namespace isthmus::page
