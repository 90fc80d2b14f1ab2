// The table of rewrites that canonicalize runs to a fixpoint.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/rewriter.h"
#include "ops/emitter.h"

namespace isthmus {

// One node of the old graph, seen from the new graph that already holds everything before it.
struct Site {
  const Node& node;
  std::span<const ValueId> inputs;  // the node's inputs in the new graph
  Emitter& emitter;                 // into the new graph; names and origin are the node's
  const Rewriter& rewriter;
  const std::vector<std::size_t>& readers;  // of the old graph's values

  Graph& graph() const { return emitter.graph(); }
  const TensorType& result() const { return rewriter.source().type(node.outputs[0]); }
  // The node of the new graph that makes input i; nothing for graph inputs and constants.
  const Node* producer(std::size_t i) const { return graph().producer(inputs[i]); }
  // The data of input i, where it is a constant with data.
  const TensorView* constant(std::size_t i) const;
  bool is_only_reader(std::size_t i) const { return readers[node.inputs[i].index] == 1; }
  template <class A>
  const A& attrs() const {
    return std::get<A>(node.attrs);
  }
};

// What the node's result becomes, or nothing where the rewrite does not apply. Never called for foreign nodes.
using Apply = Expected<std::optional<ValueId>> (*)(const Site&);

struct Rewrite {
  std::string_view name;
  std::string_view what;  // "batch_norm(conv(x)) -> conv(x) with new weights"
  Apply apply;
};

std::span<const Rewrite> rewrites();

// The rewrites, by file.
Expected<std::optional<ValueId>> drop_identity(const Site& site);
Expected<std::optional<ValueId>> merge_movement(const Site& site);
Expected<std::optional<ValueId>> merge_clamps(const Site& site);
Expected<std::optional<ValueId>> fold_constants(const Site& site);
Expected<std::optional<ValueId>> fold_batch_norm(const Site& site);
Expected<std::optional<ValueId>> expand_batch_norm(const Site& site);
Expected<std::optional<ValueId>> matmul_to_linear(const Site& site);
Expected<std::optional<ValueId>> fold_bias(const Site& site);

}  // namespace isthmus
