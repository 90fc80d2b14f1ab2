// Finds a node of a graph that computes just what another would.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace isthmus {

// The graph may grow between calls.
class EqualNodes {
 public:
  explicit EqualNodes(const Graph& graph) : graph_(graph) {}

  // The result of an equal node. Small constants are equal where their data is.
  std::optional<ValueId> find(const Node& node, std::span<const ValueId> inputs);

 private:
  using Key = std::pair<Op, std::vector<ValueId>>;
  Key key(Op op, std::span<const ValueId> inputs);
  ValueId representative(ValueId id);

  const Graph& graph_;
  std::size_t indexed_ = 0;  // number of nodes of the graph in the map
  std::map<Key, std::vector<std::size_t>> nodes_;
  std::map<ValueId, ValueId> representatives_;             // of constants
  std::map<std::string, ValueId, std::less<>> constants_;  // by type and data
};

}  // namespace isthmus
