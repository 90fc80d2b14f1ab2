// Makes a new graph out of an old one, node by node in execution order.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace isthmus {

// The new graph begins with the symbols, inputs, states and constants of the old one. Each old value is either copied
// with its node or replaced by a value of the new graph; `finish` maps the outputs.
class Rewriter {
 public:
  explicit Rewriter(const Graph& source);

  const Graph& source() const { return source_; }
  Graph& graph() { return graph_; }

  // What an old value has become. It must have been copied or replaced before.
  ValueId map(ValueId old) const;
  bool is_mapped(ValueId old) const { return map_[old.index].has_value(); }
  std::vector<ValueId> map(const std::vector<ValueId>& old) const;
  void replace(ValueId old, ValueId replacement) { map_[old.index] = replacement; }
  void copy(const Node& node);

  Graph finish() &&;

 private:
  // Values that are gone are known by the names of those that they became or became a part of.
  void keep_names();

  const Graph& source_;
  Graph graph_;
  std::vector<std::optional<ValueId>> map_;
};

// Without the nodes, constants and states that no result depends on, in this run or a later one. Inputs stay.
Graph without_dead_code(const Graph& graph);

}  // namespace isthmus
