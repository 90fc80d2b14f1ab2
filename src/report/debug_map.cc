// Instructions, and the nodes behind each.
#include "report/debug_map.h"

#include <fmt/format.h>

#include <variant>

#include "formats/executorch/xnn_blob.h"
#include "program/run/calls.h"
#include "report/json_parts.h"
#include "report/outcome.h"
#include "targets/debug_handle.h"

namespace isthmus {
namespace {

class DebugMap {
 public:
  explicit DebugMap(const Session& session)
      : graph_(session.graph()), places_(session.places()), compiled_(session.compiled()) {}

  Json json() {
    const pte::Plan& plan = compiled_.program.plans[0];
    const std::vector<pte::Instruction>& instructions = plan.chains[0].instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      Json row{{"chain", 0}, {"instruction", i}};
      Json nodes = Json::array();
      if (const auto* call = std::get_if<pte::DelegateCall>(&instructions[i])) {
        const pte::Delegate& delegate = plan.delegates[call->delegate_index];
        row["delegate"] = delegate.id;
        nodes = nodes_of(compiled_.made_by[i]);
        row["operators"] = operators_of(delegate);
        // ExecuTorch's XNNPACK names events after kernels and numbers none: a map by number would be read as one by
        // parts of names.
        delegate_map_[std::to_string(i)] = {{"name", delegate.id}, {"delegate_map", Json::object()}};
      } else if (const auto* kernel = std::get_if<pte::KernelCall>(&instructions[i])) {
        row["kernel"] = run::kernel_of(plan, *kernel);
        nodes = nodes_of(compiled_.made_by[i]);
      } else {
        continue;
      }
      Json handles = Json::array();
      for (const Json& node : nodes) handles.push_back(node["debug_handle"]);
      handle_map_[std::to_string(i)] = handles;
      row["nodes"] = std::move(nodes);
      rows_.push_back(std::move(row));
    }
    return {{"method", plan.name},
            {"instructions", rows_},
            {"debug_handle_map", {{plan.name, handle_map_}}},
            {"delegate_map", {{plan.name, delegate_map_}}}};
  }

 private:
  Json node_json(NodeId id) const {
    const Node& node = graph_[id];
    Json json{{"debug_handle", debug_handle(id)}, {"node", node_name(graph_, node)}, {"op", op_text(node)}};
    if (!node.origin.source.empty()) json["source"] = node.origin.source;
    if (!node.origin.call.empty()) json["call"] = node.origin.call;
    if (!node.origin.module.empty()) json["module"] = node.origin.module;
    return json;
  }

  Json nodes_of(const MadeBy& made_by) const {
    Json nodes = Json::array();
    if (const auto* id = std::get_if<NodeId>(&made_by)) nodes.push_back(node_json(*id));
    if (const auto* segment = std::get_if<std::size_t>(&made_by)) {
      for (const NodeId id : places_.segments[*segment].nodes) nodes.push_back(node_json(id));
    }
    return nodes;
  }

  // In the order in which the delegate runs them: its profiler counts them so.
  Json operators_of(const pte::Delegate& delegate) const {
    Json operators = Json::array();
    if (delegate.id != xnn::kBackendId) return operators;
    const auto blob = xnn::read_blob(delegate.blob);
    if (!blob) return operators;
    for (const xnn::Node& node : blob->nodes) {
      const NodeId id = node_with_handle(node.debug_handle);
      operators.push_back({{"operator", xnn::name_of(node.kind)},
                           {"debug_handle", node.debug_handle},
                           {"node", node_name(graph_, graph_[id])}});
    }
    return operators;
  }

  const Graph& graph_;
  const Partitioning& places_;
  const Compiled& compiled_;
  Json rows_ = Json::array();
  Json handle_map_ = Json::object();
  Json delegate_map_ = Json::object();
};

}  // namespace

std::string debug_map(const Session& session) { return dump(DebugMap(session).json()); }

}  // namespace isthmus
