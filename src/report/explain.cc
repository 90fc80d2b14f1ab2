// Gathers what the stages know about one value.
#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "targets/integers.h"

namespace isthmus {
namespace {

std::string delegate_name(const Outcome& outcome, NodeId of_graph) {
  const auto* segment = std::get_if<std::size_t>(&outcome.places.place[of_graph.index]);
  return segment == nullptr ? "host" : segment_name(outcome.target.name, *segment);
}

std::optional<NodeId> maker_of(const Graph& graph, ValueId id) {
  return graph.producer(id) == nullptr ? std::nullopt : std::optional(NodeId{graph[id].index});
}

// The two values that a tie joins.
struct Ends {
  ValueId input, result;
  ValueId other(ValueId id) const { return id == input ? result : input; }
};
Ends ends_of(const Graph& model, const Tie& tie) {
  return {model[tie.node].inputs[tie.input], model[tie.node].outputs[0]};
}

// Of constants the first one: they have parameters wherever they are read.
const Group* group_of(const QuantPlan& plan, ValueId id) {
  if (const Group* group = plan.group(id)) return group;
  for (const Group& group : plan.groups) {
    if (std::ranges::find(group.members, id, &Member::value) != group.members.end()) return &group;
  }
  return nullptr;
}

// Every member with the tie over which one gets to it first from the value.
class Neighbourhood {
 public:
  Neighbourhood(const Outcome& outcome, const Group& group) : outcome_(outcome), group_(group) {
    for (const Tie& tie : group.ties) {
      const Ends ends = ends_of(outcome.model, tie);
      ties_of_[ends.input].push_back(tie);
      if (ends.result != ends.input) ties_of_[ends.result].push_back(tie);
    }
  }

  std::vector<Explanation::GroupMember> members(ValueId from) {
    std::vector<Explanation::GroupMember> result{member(from, std::nullopt)};
    std::set<ValueId> seen{from};
    std::vector<ValueId> queue{from};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const Tie& tie : ties_of_[queue[head]]) {
        const ValueId other = ends_of(outcome_.model, tie).other(queue[head]);
        if (!seen.insert(other).second) continue;
        queue.push_back(other);
        result.push_back(member(other, words(tie, queue[head])));
      }
    }
    return result;
  }

 private:
  Explanation::GroupMember member(ValueId id, std::optional<Explanation::MemberTie> tie) const {
    Explanation::GroupMember row{outcome_.model[id].name, 0, std::nullopt, std::move(tie)};
    const auto found = std::ranges::find(group_.members, id, &Member::value);
    if (found == group_.members.end()) return row;
    row.bits_lost = found->bits_lost;
    if (found->own.max > found->own.min) row.own = found->own;
    return row;
  }
  Explanation::MemberTie words(const Tie& tie, ValueId of) const {
    const Node& node = outcome_.model[tie.node];
    const SharingRow* rule = sharing_of(outcome_.target.integers, node.op);
    return {op_text(node), node_name(outcome_.model, node), rule == nullptr ? "" : std::string(rule->because),
            origin_words(node.origin), outcome_.model[of].name};
  }

  const Outcome& outcome_;
  const Group& group_;
  std::map<ValueId, std::vector<Tie>> ties_of_;
};

void add_group(const Outcome& outcome, ValueId id, Explanation& out) {
  const Group* group = group_of(*outcome.plan, id);
  if (group == nullptr) return;
  out.group = Explanation::SharedScale{Neighbourhood(outcome, *group).members(id),
                                       std::string(name_of(group->storage)),
                                       outcome.plan->has_ranges || group->pin,
                                       group->quant.scale(),
                                       group->quant.zero_point,
                                       group->range,
                                       {},
                                       {}};
  if (group->pin) {
    out.group->pin = outcome.model[*group->pin].name;
    out.group->pin_origin = origin_words(outcome.model.producer(*group->pin)->origin);
  }
  for (const Cut& cut : outcome.plan->cuts) {
    const Ends ends = ends_of(outcome.model, cut.tie);
    const bool is_own = ends.input == id || ends.result == id;
    if (!is_own && group_of(*outcome.plan, ends.input) != group && group_of(*outcome.plan, ends.result) != group) {
      continue;
    }
    const Node& reader = outcome.model[cut.tie.node];
    out.cuts.push_back({outcome.model[ends.input].name, outcome.model[ends.result].name, op_text(reader),
                        origin_words(reader.origin), cut.because, cut.bits, cut.bytes, is_own});
  }
  std::ranges::stable_sort(out.cuts, std::greater<>(), &Explanation::CutEdge::is_own);
}

void add_conversions(const Outcome& outcome, ValueId id, Explanation& out) {
  for (std::uint32_t i = 0; i < outcome.graph.nodes().size(); ++i) {
    const Node& node = outcome.graph.nodes()[i];
    if (!is_conversion(outcome.graph, node) || outcome.in_model[i]) continue;
    if (outcome.quantized->source[node.outputs[0].index] != id) continue;
    out.conversions.push_back({node_name(outcome.graph, node), op_text(node), delegate_name(outcome, NodeId{i})});
  }
}

void add_causes(const Outcome& outcome, const HostCauses& host, NodeId of_model, Explanation& out) {
  const std::optional<NodeId> runs = node_that_runs(outcome, of_model);
  if (runs && outcome.host_reason(*runs) != nullptr) {
    out.causes = host.rows(*runs);
    const NodeId root = host.chain(*runs).back();
    out.fix = host.fix(root);
    out.needs_fix = host.needs_fix(root);
  } else {
    out.causes = float_causes(outcome, of_model);
    if (!out.causes.empty()) out.fix = out.causes.back().hint;
  }
}

}  // namespace

std::optional<NodeId> node_that_runs(const Outcome& outcome, NodeId of_model) {
  for (NodeId at = of_model;;) {
    if (outcome.in_graph[at.index]) return outcome.in_graph[at.index];
    const Node& node = outcome.model[at];
    if (node.inputs.empty() || outcome.model.producer(node.inputs[0]) == nullptr) return std::nullopt;
    at = NodeId{outcome.model[node.inputs[0]].index};
  }
}

std::vector<Explanation::Rewritten> rewrites_of(const Outcome& outcome, const std::string& value) {
  std::vector<std::string> names{value};
  std::set<std::pair<std::string, std::string>> found;  // rewrite, value
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const RewriteTime& row : outcome.rewrites) {
      for (const RewriteStep& step : row.steps) {
        if (std::ranges::find(step.made, names[i]) == step.made.end()) continue;
        if (!found.emplace(row.name, step.of).second) continue;
        if (std::ranges::find(names, step.of) == names.end()) names.push_back(step.of);
      }
    }
  }
  std::vector<Explanation::Rewritten> result;
  for (const Rewrite& rewrite : outcome.target.legalize) {
    for (const auto& [name, of] : found) {
      if (name == rewrite.name) result.push_back({name, std::string(rewrite.what), of});
    }
  }
  return result;
}

std::vector<Explanation::DeviceOperators> device_operators(const Outcome& outcome, NodeId of_graph) {
  std::vector<Explanation::DeviceOperators> result;
  if (outcome.target.operators == nullptr || outcome.host_reason(of_graph) != nullptr) return result;
  for (const std::string_view name : outcome.target.operators(outcome.graph, outcome.graph[of_graph])) {
    const auto known = std::ranges::find(result, name, &Explanation::DeviceOperators::name);
    if (known == result.end()) {
      result.push_back({std::string(name), 1});
    } else {
      ++known->count;
    }
  }
  return result;
}

std::string place_text(const Outcome& outcome, ValueId of_model) {
  const std::optional<NodeId> maker = maker_of(outcome.model, of_model);
  if (!maker) return outcome.model.constant(of_model) == nullptr ? "input" : "constant";
  const std::optional<NodeId> runs = node_that_runs(outcome, *maker);
  return runs ? delegate_name(outcome, *runs) : "nowhere";
}

bool is_delegated(const Outcome& outcome, ValueId of_model) {
  const std::optional<NodeId> maker = maker_of(outcome.model, of_model);
  const std::optional<NodeId> runs = maker ? node_that_runs(outcome, *maker) : std::nullopt;
  return runs && outcome.host_reason(*runs) == nullptr;
}

std::string precision_text(const Outcome& outcome, ValueId of_model) {
  const DType real = outcome.model.type(of_model).dtype;
  if (real != DType::kF32) return std::string(name_of(real));
  if (outcome.plan == nullptr) return "float";
  const std::optional<NodeId> maker = maker_of(outcome.model, of_model);
  if (maker && outcome.plan->precision[maker->index] == Precision::kRows) return "rows";
  const Group* group = group_of(*outcome.plan, of_model);
  if (group == nullptr || (maker && outcome.plan->precision[maker->index] == Precision::kFloat)) return "float";
  return fmt::format("int{}", 8 * size_of(group->storage));
}

Explanation explain(const Outcome& outcome, const HostCauses& host, ValueId of_model,
                    const std::vector<ValueError>& errors) {
  const Graph& model = outcome.model;
  const std::optional<NodeId> maker = maker_of(model, of_model);
  Explanation out;
  out.node = model[of_model].name;
  out.type = type_text(model, model.type(of_model));
  out.place = place_text(outcome, of_model);
  out.precision = precision_text(outcome, of_model);
  out.op = maker ? op_text(model[*maker]) : out.place;
  if (maker) {
    const Origin& origin = model[*maker].origin;
    out.origin = origin.source;
    out.call = origin.call;
    out.module = origin.module;
    for (const auto& [name, value] : model.aliases()) {
      // Steps of rewrites are called after what they are steps of.
      if (value == of_model && !model.find(name) && name.find('.') == std::string::npos) out.aliases.push_back(name);
    }
    for (const Node& node : model.nodes()) out.siblings += !origin.empty() && node.origin == origin ? 1 : 0;
    if (outcome.plan != nullptr) out.because = precision_row(outcome, *maker).text;
    add_causes(outcome, host, *maker, out);
    out.rewrites = rewrites_of(outcome, out.node);
    if (const auto runs = node_that_runs(outcome, *maker)) out.becomes = device_operators(outcome, *runs);
  }
  for (const Node& node : model.nodes()) {
    if (std::ranges::find(node.inputs, of_model) != node.inputs.end()) out.readers.push_back(node_name(model, node));
  }
  if (outcome.plan != nullptr) {
    add_group(outcome, of_model, out);
    add_conversions(outcome, of_model, out);
  }
  for (const ValueError& error : errors) {
    if (error.value != of_model) continue;
    out.error = Explanation::Loss{error.total.db(), error.total.cosine(), error.rounding.db(), error.alone.db()};
  }
  return out;
}

}  // namespace isthmus
