// Refuses options that contradict the target, rules that match nothing and operators that are unknown.
#include "session/preconditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/near_words.h"
#include "program/lower/lower.h"
#include "session/foreign_cause.h"
#include "targets/partition.h"
#include "targets/registry.h"

namespace isthmus {

Expected<std::optional<Finisher>> finisher_for(const TargetDesc& target, const FinishSettings& settings) {
  for (const FinishingStep* step : all_finishing_steps()) {
    for (const FinishOption& option : step->options) {
      if (setting_of(settings, option).empty() || step == target.finish) continue;
      return bad_input(
          fmt::format("{} is an option of {}, which is not used for {}", option.name, step->name, target.name));
    }
  }
  if (target.finish == nullptr) return std::optional<Finisher>();
  std::optional<Finisher> finisher = TRY(target.finish->prepare(target.name, settings));
  for (const FinishOption& option : target.finish->options) {
    if (finisher || setting_of(settings, option).empty()) continue;
    return bad_input(fmt::format("{}: {} was not found; install it or give its path with --{}", option.name,
                                 target.finish->name, target.finish->name));
  }
  return finisher;
}

Expected<void> demand_used_rules(const Diagnostics& said, const Graph& graph, const QuantConfig& config) {
  for (const Diagnostic& entry : said.entries()) {
    if (entry.code != "unused-rule") continue;
    std::vector<std::string_view> nodes;
    std::set<std::string_view> modules;
    for (const Node& node : graph.nodes()) {
      if (node.outputs.empty()) continue;
      nodes.push_back(graph[node.outputs[0]].name);
      // A rule for a module is one for all below it.
      const std::string_view path = node.origin.module;
      for (std::size_t end = path.find('.'); !path.empty(); end = path.find('.', end + 1)) {
        modules.insert(path.substr(0, end));
        if (end == std::string_view::npos) break;
      }
    }
    for (const auto& [name, value] : graph.aliases()) nodes.push_back(name);
    std::string near;
    for (const QuantRule& rule : config.rules) {
      if (rule.line != entry.line) continue;
      for (const std::string_view name : rule.node.empty()
                                             ? near_words(rule.module, std::vector(modules.begin(), modules.end()), 3)
                                             : near_words(rule.node, nodes, 3)) {
        near += fmt::format("{}{}", near.empty() ? "; did you mean " : ", ", name);
      }
    }
    return bad_input(fmt::format("{}{}", entry.text, near.empty() ? "" : near + "?"));
  }
  return {};
}

Expected<void> demand_known(const Graph& graph, const TargetDesc& target, const Diagnostics& diagnostics) {
  TRY(demand_known_calls(graph, diagnostics));
  const bool has_unknown = std::ranges::any_of(
      graph.nodes(), [](const Node& node) { return std::holds_alternative<ForeignAttrs>(node.attrs); });
  if (!has_unknown) return {};
  return demand_known_ops(graph, partition(graph, target), target);
}

}  // namespace isthmus
