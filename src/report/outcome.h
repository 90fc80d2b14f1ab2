// A model behind all stages: the source of reports about its nodes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "quantize/plan/plan.h"
#include "session/stages.h"
#include "targets/partitioning.h"
#include "targets/target.h"

namespace isthmus {

// It refers to what the stages made, which must outlive it.
struct Outcome {
  const TargetDesc& target;
  const Graph& model;                     // in float, as the target wants it
  const Graph& graph;                     // what runs: the quantized model, or the model itself
  const Partitioning& places;             // of `graph`
  std::span<const RewriteTime> rewrites;  // that made `model`
  const QuantPlan* plan = nullptr;        // of `model`; null where it stays in float
  const Quantized* quantized = nullptr;   // the same
  // Which node of the one graph became which of the other.
  std::vector<std::optional<NodeId>> in_graph = {};  // by node of `model`; nothing where it is part of another node
  std::vector<std::optional<NodeId>> in_model = {};  // by node of `graph`; nothing for what only exists there

  // Null for what the device runs.
  const Reason* host_reason(NodeId of_graph) const { return std::get_if<Reason>(&places.place[of_graph.index]); }
};

// `quantized` is null for a model that stays in float.
Outcome outcome_of(const TargetDesc& target, const Prepared& prepared, const QuantizedModel* quantized);

// Whether a node turns floats into quantized values or back, their parameters standing in the types.
bool is_conversion(const Graph& graph, const Node& node);

// The op, or the name by which the frontend knows an operator that is none of ours.
std::string op_text(const Node& node);
// "vit.py:41 concat in blocks.0"; empty where nothing is known.
std::string origin_words(const Origin& origin);
// Of its first result; nodes without one have none.
std::string node_name(const Graph& graph, const Node& node);

}  // namespace isthmus
