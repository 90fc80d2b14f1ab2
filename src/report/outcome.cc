// Finds the nodes of a model among those that run.
#include "report/outcome.h"

#include <map>

#include "ir/literals.h"
#include "ir/quantized.h"

namespace isthmus {
namespace {

// Names stay where they can. Where one was taken, the value that stands for the result tells.
void find_counterparts(Outcome& outcome) {
  const Graph& model = outcome.model;
  const Graph& graph = outcome.graph;
  std::map<ValueId, std::vector<NodeId>> standing_for;
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    for (const ValueId output : graph.nodes()[i].outputs) {
      if (const auto source = outcome.quantized->source[output.index]) standing_for[*source].push_back(NodeId{i});
    }
  }
  for (std::uint32_t i = 0; i < model.nodes().size(); ++i) {
    const Node& node = model.nodes()[i];
    if (node.outputs.empty()) continue;
    std::vector<NodeId> candidates;
    if (const auto named = graph.find(model[node.outputs[0]].name); named && graph.producer(*named) != nullptr) {
      candidates.push_back(NodeId{graph[*named].index});
    }
    const std::vector<NodeId>& others = standing_for[node.outputs[0]];
    candidates.insert(candidates.end(), others.begin(), others.end());
    for (const NodeId candidate : candidates) {
      if (graph[candidate].op != node.op || outcome.in_model[candidate.index]) continue;
      outcome.in_graph[i] = candidate;
      outcome.in_model[candidate.index] = NodeId{i};
      break;
    }
  }
}

}  // namespace

Outcome outcome_of(const TargetDesc& target, const Prepared& prepared, const QuantizedModel* quantized) {
  if (quantized == nullptr) {
    Outcome outcome{target, prepared.graph, prepared.graph, prepared.partitioning, prepared.rewrites};
    for (std::uint32_t i = 0; i < prepared.graph.nodes().size(); ++i) outcome.in_graph.emplace_back(NodeId{i});
    outcome.in_model = outcome.in_graph;
    return outcome;
  }
  Outcome outcome{
      target,           quantized->model,     quantized->quantized.graph, quantized->partitioning, prepared.rewrites,
      &quantized->plan, &quantized->quantized};
  outcome.in_graph.resize(outcome.model.nodes().size());
  outcome.in_model.resize(outcome.graph.nodes().size());
  find_counterparts(outcome);
  return outcome;
}

bool is_conversion(const Graph& graph, const Node& node) {
  return node.inputs.size() == 1 && is_quantized(graph, node) &&
         (std::holds_alternative<QuantizeAttrs>(node.attrs) || std::holds_alternative<DequantizeAttrs>(node.attrs));
}

std::string op_text(const Node& node) {
  const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
  return foreign == nullptr ? std::string(name_of(node.op)) : foreign->target;
}

std::string origin_words(const Origin& origin) { return origin.empty() ? "" : origin_text(origin); }

std::string node_name(const Graph& graph, const Node& node) {
  return node.outputs.empty() ? "" : graph[node.outputs[0]].name;
}

}  // namespace isthmus
