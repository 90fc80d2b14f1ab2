// Sweeps over a graph with one rewrite at a time.
#include "ops/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/untrusted_text.h"
#include "ir/readers.h"
#include "ir/verify.h"

namespace isthmus {
namespace {

constexpr std::size_t kMaxRounds = 64;

// One sweep over the graph; nothing where the rewrite applied nowhere.
Expected<std::optional<Graph>> sweep(const Graph& graph, const Rewrite& rewrite, const TargetForms& target,
                                     FoldingBudget& folding, std::vector<RewriteStep>& steps) {
  const std::vector<std::size_t> readers = reader_counts(graph);
  Rewriter rewriter(graph);
  Emitter emitter(rewriter.graph());
  EqualNodes equal_nodes(rewriter.graph());
  bool has_changed = false;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kForeign) {
      rewriter.copy(node);
      continue;
    }
    const std::string& name = graph[node.outputs[0]].name;
    emitter.begin(node.origin, name, node.in_float || rewrite.steps == Steps::kFloat);
    const std::size_t first_new_value = rewriter.graph().values().size();
    const std::size_t first_new_node = rewriter.graph().nodes().size();
    const std::vector<ValueId> inputs = rewriter.map(node.inputs);
    const auto replacement =
        TRY(rewrite.apply({node, inputs, emitter, rewriter, readers, equal_nodes, target, folding}));
    if (!replacement) {
      rewriter.copy(node);
      continue;
    }
    has_changed = true;
    if (replacement->index >= first_new_value && !rewriter.graph().find(name)) {
      rewriter.graph().rename(*replacement, name);
    }
    rewriter.replace(node.outputs[0], *replacement);
    steps.push_back({name, {}});
    for (const Node& made : rewriter.graph().nodes().subspan(first_new_node)) {
      steps.back().made.push_back(rewriter.graph()[made.outputs[0]].name);
    }
  }
  if (!has_changed) return std::optional<Graph>();
  return std::optional(without_dead_code(std::move(rewriter).finish()));
}

Expected<void> check_names(std::span<const Rewrite> rewrites, const RewriteNames& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(rewrites, name, &Rewrite::name) != rewrites.end()) continue;
    std::string known;
    for (const Rewrite& rewrite : rewrites) known += fmt::format("{}{}", known.empty() ? "" : ", ", rewrite.name);
    return bad_input(fmt::format("unknown rewrite {}; known: {}", shown(name), known));
  }
  return {};
}

}  // namespace

const TensorView* Site::constant(std::size_t i) const {
  const Constant* found = graph().constant(inputs[i]);
  return found == nullptr || !found->data ? nullptr : &*found->data;
}

Expected<Graph> rewrite_to_fixpoint(Graph graph, std::span<const Rewrite> rewrites, const RewriteNames& skip,
                                    std::vector<RewriteTime>& times, const TargetForms& target) {
  using Clock = std::chrono::steady_clock;
  TRY(check_names(rewrites, skip));
  std::vector<RewriteTime> spent;
  for (const Rewrite& rewrite : rewrites) spent.push_back({std::string(rewrite.name)});
  FoldingBudget folding = FoldingBudget::of(graph);
  // A rewrite runs again only if another one changed the graph since.
  std::vector<bool> is_done(rewrites.size(), false);
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    bool has_changed = false;
    for (std::size_t i = 0; i < rewrites.size(); ++i) {
      const Rewrite& rewrite = rewrites[i];
      if (is_done[i] || skip.contains(rewrite.name)) continue;
      const auto place = [&] { return std::string(rewrite.name); };
      const Clock::time_point start = Clock::now();
      auto next = TRY(within(sweep(graph, rewrite, target, folding, spent[i].steps), place));
      is_done[i] = !next.has_value();
      if (next) {
        graph = std::move(*next);
        TRY(within(verify(graph), place));
        has_changed = true;
        for (std::size_t k = 0; k < is_done.size(); ++k) is_done[k] = is_done[k] && k == i;
      }
      ++spent[i].runs;
      spent[i].changes += next ? 1 : 0;
      spent[i].seconds += std::chrono::duration<double>(Clock::now() - start).count();
    }
    if (!has_changed) {
      times.insert(times.end(), spent.begin(), spent.end());
      return graph;
    }
  }
  return bad_input(fmt::format("the rewrites did not come to an end after {} rounds", kMaxRounds));
}

}  // namespace isthmus
