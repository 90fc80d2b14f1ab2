// Every node that runs, with what is known of it.
#include <algorithm>
#include <utility>

#include "ir/quantized.h"
#include "report/explain.h"
#include "report/page/parts.h"

namespace isthmus::page {
namespace {

// What a node is for: it computes, it stands between floats and quantized values, or it changes parameters on an edge.
std::string_view kind_of(const Outcome& outcome, NodeId id) {
  const Node& node = outcome.graph[id];
  if (outcome.in_model[id.index] || !is_conversion(outcome.graph, node)) return "op";
  const auto has_quant = [&](ValueId value) { return outcome.graph.type(value).quant.has_value(); };
  return has_quant(node.inputs[0]) && has_quant(node.outputs[0]) ? "rescale" : "convert";
}

class Nodes {
 public:
  explicit Nodes(const Known& known) : known_(known), outcome_(known.outcome) {
    for (const auto& [name, value] : outcome_.model.aliases()) {
      // Steps of rewrites are called after what they are steps of.
      if (!outcome_.model.find(name) && name.find('.') == std::string::npos) aliases_[value].push_back(name);
    }
  }

  Json row(NodeId id) {
    const Graph& graph = outcome_.graph;
    const Node& node = graph[id];
    Json row{{"name", node_name(graph, node)}, {"op", op_text(node)}, {"kind", kind_of(outcome_, id)}};
    const auto* segment = std::get_if<std::size_t>(&outcome_.places.place[id.index]);
    row["place"] = segment == nullptr ? Json(-1) : Json(*segment);
    add_text(row, "module", node.origin.module);
    add_text(row, "source", node.origin.source);
    add_text(row, "call", node.origin.call);
    add_inputs(node, row);
    for (const ValueId output : node.outputs) row["types"].push_back(type_text(graph, graph.type(output)));
    if (!node.outputs.empty()) add_result(node.outputs[0], row);
    if (const std::optional<NodeId> of_model = outcome_.in_model[id.index]) add_model(*of_model, row);
    if (segment == nullptr) add_fallback(id, row);
    Json becomes = Json::array();
    for (const Explanation::DeviceOperators& operators : device_operators(outcome_, id)) {
      becomes.push_back({operators.name, operators.count});
    }
    if (!becomes.empty()) row["becomes"] = std::move(becomes);
    if (const auto cost = known_.costs.find(row["name"]); cost != known_.costs.end()) {
      row["cost"] = {{"cycles", static_cast<std::uint64_t>(cost->second->cycles)},
                     {"sram_bytes", static_cast<std::uint64_t>(cost->second->sram_bytes)}};
    }
    return row;
  }

 private:
  static void add_text(Json& row, const char* key, const std::string& text) {
    if (!text.empty()) row[key] = text;
  }

  // Nodes by their number, inputs of the graph and states as -1, -2, ...; constants apart.
  void add_inputs(const Node& node, Json& row) {
    const Graph& graph = outcome_.graph;
    row["from"] = Json::array();
    for (const ValueId input : node.inputs) {
      const Value& value = graph[input];
      if (value.kind == ValueKind::kResult) {
        row["from"].push_back(value.index);
      } else if (value.kind != ValueKind::kConstant) {
        row["from"].push_back(-1 - static_cast<std::int64_t>(source_index(input)));
      } else {
        const std::string& fqn = graph.constant(input)->fqn;
        Json constant{{"name", fqn.empty() ? value.name : fqn}, {"type", type_text(graph, value.type)}};
        if (const auto bytes = bytes_of(graph, input)) constant["bytes"] = *bytes;
        if (value.type.quant) constant["quant"] = quant_json(value.type);
        row["constants"].push_back(std::move(constant));
      }
    }
  }

  // Inputs first, states behind them.
  std::size_t source_index(ValueId id) const {
    const Graph& graph = outcome_.graph;
    const auto input = std::ranges::find(graph.inputs(), id);
    if (input != graph.inputs().end()) return static_cast<std::size_t>(input - graph.inputs().begin());
    const auto state = std::ranges::find(graph.states(), id, &GraphState::value);
    return graph.inputs().size() + static_cast<std::size_t>(state - graph.states().begin());
  }

  void add_result(ValueId id, Json& row) const {
    const Graph& graph = outcome_.graph;
    if (const auto bytes = bytes_of(graph, id)) row["bytes"] = *bytes;
    const bool means_something = outcome_.plan == nullptr || outcome_.plan->has_ranges;
    if (graph.type(id).quant && means_something) row["quant"] = quant_json(graph.type(id));
  }

  void add_model(NodeId of_model, Json& row) {
    const Graph& model = outcome_.model;
    const ValueId value = model[of_model].outputs[0];
    row["precision"] = precision_text(outcome_, value);
    if (outcome_.plan != nullptr) {
      add_text(row, "because", precision_row(outcome_, of_model).text);
      if (const auto group = outcome_.plan->group_of[value.index]) row["group"] = *group;
    }
    for (const Explanation::Rewritten& step : rewrites_of(outcome_, model[value].name)) {
      row["rewrites"].push_back({step.rewrite, step.what, step.of});
    }
    if (const auto found = aliases_.find(value); found != aliases_.end()) row["aliases"] = found->second;
    if (!row.contains("causes") && outcome_.places.place[outcome_.in_graph[of_model.index]->index].index() == 0) {
      const std::vector<CauseRow> causes = float_causes(outcome_, of_model);
      if (!causes.empty()) {
        row["causes"] = causes_json(causes);
        add_text(row, "fix", causes.back().hint);
      }
    }
    if (known_.statistics != nullptr) {
      const auto seen = known_.statistics->values.find(model[value].name);
      if (seen != known_.statistics->values.end()) row["histogram"] = histogram_json(seen->second);
    }
    if (const auto error = known_.errors.find(value); error != known_.errors.end()) {
      row["error"] = {{"db", brief(finite_db(error->second->total.db()))},
                      {"rounding_db", brief(finite_db(error->second->rounding.db()))},
                      {"alone_db", brief(finite_db(error->second->alone.db()))}};
    }
    if (const auto gain = known_.gains.find(model[value].name); gain != known_.gains.end()) {
      row["gain"] = {{"db", brief(gain->second->db)}, {"bytes", gain->second->bytes}};
    }
  }

  void add_fallback(NodeId id, Json& row) {
    const NodeId root = known_.host.chain(id).back();
    if (!fixes_.contains(root)) fixes_[root] = {known_.host.fix(root), known_.host.needs_fix(root)};
    row["causes"] = causes_json(known_.host.rows(id));
    row["fix"] = fixes_[root].first;
    row["needs_fix"] = fixes_[root].second;
  }

  const Known& known_;
  const Outcome& outcome_;
  std::map<ValueId, std::vector<std::string>> aliases_;
  std::map<NodeId, std::pair<std::string, bool>> fixes_;  // by root
};

}  // namespace

Json graph_part(const Known& known) {
  const Graph& graph = known.outcome.graph;
  Json sources = Json::array();
  const auto add_source = [&](ValueId id, std::string_view kind) {
    Json row{{"name", graph[id].name}, {"kind", kind}, {"type", type_text(graph, graph.type(id))}};
    const bool means_something = known.outcome.plan == nullptr || known.outcome.plan->has_ranges;
    if (graph.type(id).quant && means_something) row["quant"] = quant_json(graph.type(id));
    sources.push_back(std::move(row));
  };
  for (const ValueId id : graph.inputs()) add_source(id, "input");
  for (const GraphState& state : graph.states()) add_source(state.value, "state");
  Json outputs = Json::array();
  for (const Output& output : graph.outputs()) {
    const auto* id = std::get_if<ValueId>(&output.value);
    if (id == nullptr) continue;
    const bool is_result = graph[*id].kind == ValueKind::kResult;
    outputs.push_back({{"name", output.kind == OutputKind::kMutation ? output.target : graph[*id].name},
                       {"kind", output.kind == OutputKind::kMutation ? "state" : "output"},
                       {"type", type_text(graph, graph.type(*id))},
                       {"from", is_result ? Json(graph[*id].index) : Json(nullptr)}});
  }
  Json segments = Json::array();
  for (std::size_t i = 0; i < known.outcome.places.segments.size(); ++i) {
    segments.push_back(segment_name(known.outcome.target.name, i));
  }
  Nodes nodes(known);
  Json rows = Json::array();
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) rows.push_back(nodes.row(NodeId{i}));
  return {{"segments", std::move(segments)},
          {"sources", std::move(sources)},
          {"outputs", std::move(outputs)},
          {"nodes", std::move(rows)}};
}

}  // namespace isthmus::page
