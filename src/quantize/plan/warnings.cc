// One function for each warning; a warning names the node and its line.
#include "quantize/plan/warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/portable_math.h"
#include "ir/literals.h"
#include "ops/table.h"
#include "quantize/plan/groups.h"
#include "quantize/plan/quantized_values.h"

namespace isthmus {

void warn_of_joins(const Graph& graph, const QuantPlan& plan, Ranges& ranges, Diagnostics& diagnostics) {
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (plan.precision[n] != Precision::kQuantized || def(node.op).flow != QFlow::kJoinsInputs) continue;
    const Value* narrow = nullptr;
    const Value* wide = nullptr;
    double min = 0;
    double max = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_data_input(node.op, i)) continue;
      const auto range = ranges.own(node.inputs[i]);
      if (!range || !(range->max > range->min)) continue;
      const double own = range->max - range->min;
      if (narrow == nullptr || own < min) std::tie(narrow, min) = std::pair(&graph[node.inputs[i]], own);
      if (wide == nullptr || own > max) std::tie(wide, max) = std::pair(&graph[node.inputs[i]], own);
    }
    const double worth_saying = kJoinBits + spare_bits(plan.group(node.outputs[0])->storage);
    if (narrow == nullptr || portable::log2(max / min) < worth_saying) continue;
    diagnostics.warn(
        "join-loses-bits", graph[node.outputs[0]].name,
        fmt::format("{} has one output scale: %{} (range {:.4g}) loses {:.1f} bits beside %{} (range {:.4g}); scale "
                    "one of them in the model, or return them separately",
                    node_text(graph, node), narrow->name, min, portable::log2(max / min), wide->name, max));
  }
}

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

void warn_of_unknown(const Graph& graph, const QuantPlan& plan, Diagnostics& diagnostics) {
  constexpr std::size_t kMaxNames = 5;
  std::vector<std::string> names;
  for (const std::uint32_t group : plan.unknown) {
    if (names.size() < kMaxNames) names.push_back("%" + graph[plan.groups[group].members[0].value].name);
  }
  const std::size_t others = plan.unknown.size() - names.size();
  diagnostics.warn(kNotPinned, names[0].substr(1),
                   fmt::format("the archive has no parameters for {}{}: calibrate with data (--calibrate)",
                               fmt::join(names, ", "), others == 0 ? "" : fmt::format(" and {} more", others)));
}

}  // namespace isthmus
