// The laws, in the plainest way.
#include "support/plan_laws.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ops/table.h"
#include "quantize/plan/groups.h"
#include "quantize/plan/precision.h"
#include "quantize/plan/quantized_values.h"

namespace isthmus::test {
namespace {

std::string quant_text(const Quant& quant, DType storage) {
  return fmt::format("{} {} zp {} axis {}", name_of(storage), quant.scales, quant.zero_point, quant.axis);
}

double width(Range range) { return range.max - range.min; }

// One way in which a value is read.
struct Reading {
  std::optional<Tie> tie;     // where it asks for sharing
  bool is_quantized = false;  // else floats, or float I/O of the model
};

class Sharing {
 public:
  Sharing(const Graph& graph, const QuantPlan& plan, const TargetDesc& target, const QuantConfig& config)
      : graph_(graph), plan_(plan), config_(config), readings_(graph.values().size()), is_cut_(cut_ties(plan)) {
    const std::vector<bool> is_fused = fused_clamps(graph, target);
    for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      const bool is_quantized = plan.precision[n] == Precision::kQuantized;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        Reading reading{std::nullopt, is_quantized};
        if (is_quantized && must_share(target.integers, node.op) && is_data_input(node.op, i)) {
          reading.tie = Tie{NodeId{n}, i};
        }
        readings_[node.inputs[i].index].push_back(reading);
        if (reading.tie && is_fused[n] && has_quantized(node.inputs[i])) hidden_.insert(node.inputs[i]);
      }
    }
    for (const Output& output : graph.outputs()) {
      const bool is_quantized = config.outputs != IoType::kFloat;
      if (const auto* id = std::get_if<ValueId>(&output.value))
        readings_[id->index].push_back({std::nullopt, is_quantized});
    }
    find_finest(target);
  }

  // What the reader that suffers most from one set of parameters for these members loses; and its value.
  std::pair<double, ValueId> worst(const std::vector<Member>& members) const {
    std::set<ValueId> inside;
    for (const Member& member : members) inside.insert(member.value);
    Range hull;
    for (const Member& member : members) {
      if (hidden_.contains(member.value)) continue;
      hull = {std::min(hull.min, member.own.min), std::max(hull.max, member.own.max)};
    }
    std::pair<double, ValueId> result{0, {}};
    for (const Member& member : members) {
      if (graph_.constant(member.value) != nullptr || hidden_.contains(member.value) || width(member.own) <= 0)
        continue;
      const double need = needed(member, inside);
      if (!std::isfinite(need)) continue;
      const double bits = std::log2(width(hull) / need);
      if (bits > result.first) result = {bits, member.value};
    }
    return result;
  }

 private:
  static std::set<Tie> cut_ties(const QuantPlan& plan) {
    std::set<Tie> result;
    for (const Cut& cut : plan.cuts) result.insert(cut.tie);
    return result;
  }
  bool has_quantized(ValueId id) const { return is_made_quantized(graph_, plan_.precision, config_, id); }

  // The range that a reader outside wants the value to have; infinite where there is none.
  double needed(const Member& member, const std::set<ValueId>& inside) const {
    double need = std::numeric_limits<double>::infinity();
    for (const Reading& reading : readings_[member.value.index]) {
      if (!reading.is_quantized && !has_quantized(member.value)) continue;
      if (!reading.tie) {
        need = std::min(need, finest(member.value));
        continue;
      }
      const ValueId result = graph_[reading.tie->node].outputs[0];
      if (is_cut_.contains(*reading.tie) && has_quantized(member.value) && !inside.contains(result)) {
        // Behind the rescale nothing is finer than the group there.
        need = std::min(need, std::max(finest(member.value), width(hull_of(*plan_.group(result)))));
      }
    }
    return need;
  }
  // The range whose quantized values would show all that the value's quantized values can hold: its own, but what only
  // passes numbers on has no more bits than the quantized values that it was given.
  double finest(ValueId id) const { return finest_.at(id); }
  void find_finest(const TargetDesc& target) {
    for (const Group& group : plan_.groups) {
      for (const Member& member : group.members) finest_[member.value] = width(member.own);
    }
    for (std::uint32_t n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      if (plan_.precision[n] != Precision::kQuantized || !must_share(target.integers, node.op)) continue;
      if (def(node.op).flow == QFlow::kComputes || def(node.op).flow == QFlow::kFixedRange) continue;
      std::vector<double> given;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId input = node.inputs[i];
        if (!is_data_input(node.op, i)) continue;
        const bool is_free = hidden_.contains(input) || !has_quantized(input);
        given.push_back(is_free ? 0 : finest(input));
      }
      if (given.empty() || finest(node.outputs[0]) <= 0) continue;
      finest_[node.outputs[0]] = std::max(finest(node.outputs[0]), std::ranges::min(given));
    }
  }
  Range hull_of(const Group& group) const {
    Range hull;
    for (const Member& member : group.members) {
      if (hidden_.contains(member.value)) continue;
      hull = {std::min(hull.min, member.own.min), std::max(hull.max, member.own.max)};
    }
    return hull;
  }

  const Graph& graph_;
  const QuantPlan& plan_;
  const QuantConfig& config_;
  std::vector<std::vector<Reading>> readings_;  // by value
  std::set<Tie> is_cut_;
  std::set<ValueId> hidden_;  // before fused clamps: not visible outside of the fused node
  std::map<ValueId, double> finest_;
};

}  // namespace

std::string decisions(const Graph& graph, const QuantPlan& plan, const std::function<std::string(ValueId)>& name) {
  const auto named = [&](ValueId id) { return name == nullptr ? graph[id].name : name(id); };
  std::multiset<std::string> lines;
  for (const Group& group : plan.groups) {
    std::multiset<std::string> members;
    for (const Member& member : group.members) {
      members.insert(
          fmt::format("{} {} {} loses {}", named(member.value), member.own.min, member.own.max, member.bits_lost));
    }
    lines.insert(fmt::format("group {} [{}, {}]: {}", quant_text(group.quant, group.storage), group.range.min,
                             group.range.max, fmt::join(members, ", ")));
  }
  for (const Cut& cut : plan.cuts) {
    const Node& node = graph[cut.tie.node];
    lines.insert(fmt::format("cut {} -> {}: {} {} bits {} bytes", named(node.inputs[cut.tie.input]),
                             named(node.outputs[0]), static_cast<int>(cut.cause), cut.bits, cut.bytes));
  }
  for (const auto& [tie, quantized] : plan.constants) {
    const Node& node = graph[tie.node];
    lines.insert(fmt::format("constant {} -> {}: {}", named(node.inputs[tie.input]), named(node.outputs[0]),
                             quant_text(quantized.quant, quantized.storage)));
  }
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    lines.insert(fmt::format("node {}: {}", named(graph.nodes()[n].outputs[0]), static_cast<int>(plan.precision[n])));
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string broken_tie(const Graph& graph, const QuantPlan& plan, const TargetDesc& target) {
  std::set<Tie> cuts;
  for (const Cut& cut : plan.cuts) cuts.insert(cut.tie);
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (plan.precision[n] != Precision::kQuantized || !must_share(target.integers, node.op)) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data_input(node.op, i) || graph.constant(node.inputs[i]) != nullptr) continue;
      const bool is_shared = plan.group_of[node.inputs[i].index] == plan.group_of[node.outputs[0].index];
      if (is_shared != cuts.contains({NodeId{n}, i})) continue;
      return fmt::format("{} -> {} is {}", graph[node.inputs[i]].name, graph[node.outputs[0]].name,
                         is_shared ? "cut inside of a group" : "neither shared nor cut");
    }
  }
  return {};
}

std::string removable_cut(const Graph& graph, const QuantPlan& plan, const TargetDesc& target,
                          const QuantConfig& config) {
  const Sharing sharing(graph, plan, target, config);
  for (const Cut& cut : plan.cuts) {
    if (cut.cause != CutCause::kPrecision) continue;
    const Node& node = graph[cut.tie.node];
    std::vector<Member> both = plan.group(node.inputs[cut.tie.input])->members;
    const std::vector<Member>& others = plan.group(node.outputs[0])->members;
    both.insert(both.end(), others.begin(), others.end());
    const auto [bits, value] = sharing.worst(both);
    if (bits >= bits_to_lose(config, plan.group(node.outputs[0])->storage)) continue;
    return fmt::format("{} -> {}: without it readers of {} lose {} bits; it says {}",
                       graph[node.inputs[cut.tie.input]].name, graph[node.outputs[0]].name, graph[value].name, bits,
                       cut.because);
  }
  return {};
}

std::string hurt_reader(const Graph& graph, const QuantPlan& plan, const TargetDesc& target,
                        const QuantConfig& config) {
  const Sharing sharing(graph, plan, target, config);
  for (const Group& group : plan.groups) {
    const auto is_constant = [&](const Member& member) { return graph.constant(member.value) != nullptr; };
    // What a constant brings to a join cannot be cut off.
    if (std::ranges::any_of(group.members, is_constant)) continue;
    const auto [bits, value] = sharing.worst(group.members);
    if (bits >= bits_to_lose(config, group.storage))
      return fmt::format("readers of {} lose {} bits", graph[value].name, bits);
  }
  return {};
}

std::string unequal_tie(const Graph& quantized, const TargetDesc& target) {
  for (const Node& node : quantized.nodes()) {
    const TensorType& result = quantized.type(node.outputs[0]);
    if (!must_share(target.integers, node.op)) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data_input(node.op, i)) continue;
      const TensorType& type = quantized.type(node.inputs[i]);
      if (type.quant == result.quant && type.dtype == result.dtype) continue;
      return fmt::format("{} -> {}", quantized[node.inputs[i]].name, quantized[node.outputs[0]].name);
    }
  }
  return {};
}

std::string computations(const Graph& model, const Quantized& quantized) {
  const Graph& graph = quantized.graph;
  const auto described = [&](ValueId id) {
    const TensorType& type = graph.type(id);
    const auto source = id.index < quantized.source.size() ? quantized.source[id.index] : std::nullopt;
    std::string text = source ? model[*source].name : fmt::format("#{:x}", graph.constant(id)->content_hash());
    if (type.quant) text += " " + quant_text(*type.quant, type.dtype);
    return text;
  };
  std::multiset<std::string> lines;
  for (const Node& node : graph.nodes()) {
    std::vector<std::string> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(described(input));
    lines.insert(fmt::format("{} = {}({})", described(node.outputs[0]), name_of(node.op), fmt::join(inputs, "; ")));
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace isthmus::test
