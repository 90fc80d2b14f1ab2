// Small rewrites of a graph, as rows of a table that a stage runs to a fixpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "ir/rewriter.h"
#include "ops/emitter.h"
#include "ops/equal_nodes.h"
#include "ops/folding.h"

namespace isthmus {

// What rewrites ask of the target that they rewrite for. Rewrites of no target have none.
struct TargetForms {
  std::size_t max_rank = 0;        // axes of a tensor
  std::size_t max_cat_inputs = 0;  // of one cat
  bool (*has_form)(Op op) = nullptr;
  // Whether the target refuses the node for its form, so that another form may help.
  bool (*needs_other_form)(const Graph& graph, const Node& node) = nullptr;
};

// One node of the old graph, seen from the new graph that already holds everything before it.
struct Site {
  const Node& node;
  std::span<const ValueId> inputs;  // the node's inputs in the new graph
  Emitter& emitter;                 // into the new graph; names and origin are the node's
  const Rewriter& rewriter;
  const std::vector<std::size_t>& readers;  // of the old graph's values
  EqualNodes& equal_nodes;                  // of the new graph
  const TargetForms& target;
  FoldingBudget& folding;

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

// What a node's result becomes, or nothing where a rewrite does not apply.
using Replacement = Expected<std::optional<ValueId>>;
inline Replacement unchanged() { return std::optional<ValueId>(); }
inline Replacement replaced_by(Expected<ValueId> value) {
  if (!value) return tl::unexpected<Error>(std::move(value).error());
  return std::optional(*value);
}

// Never called for foreign nodes.
using Apply = Replacement (*)(const Site&);

// In which precision the steps of what a rewrite makes are to be computed.
enum class Steps : std::uint8_t {
  kAny,    // as the node before: they lose no more in integers than it does
  kFloat,  // in float
};

struct Rewrite {
  std::string_view name;
  std::string_view what;  // "batch_norm(conv(x)) -> conv(x) with new weights"
  Apply apply;
  Steps steps = Steps::kAny;
};

// A node that a rewrite replaced, by the names of results.
struct RewriteStep {
  std::string of;
  std::vector<std::string> made;  // in the order of the new nodes; empty where what was there already took its place
};

// How often a rewrite ran and changed something, what, and how long it took in all.
struct RewriteTime {
  std::string name;
  std::size_t runs = 0;
  std::size_t changes = 0;
  double seconds = 0;
  std::vector<RewriteStep> steps = {};
};

using RewriteNames = std::set<std::string, std::less<>>;

// Runs the rows in order, again and again until none of them changes anything; dead code is dropped and the graph
// verified after each change. Adds a row to `times` for each rewrite. A name to skip that no row has is an error.
Expected<Graph> rewrite_to_fixpoint(Graph graph, std::span<const Rewrite> rewrites, const RewriteNames& skip,
                                    std::vector<RewriteTime>& times, const TargetForms& target = {});

}  // namespace isthmus
