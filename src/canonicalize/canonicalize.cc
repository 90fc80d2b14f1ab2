// Resolves spellings, then runs the table of rewrites to a fixpoint.
#include "canonicalize/canonicalize.h"

#include <fmt/format.h>

#include <chrono>

#include "canonicalize/resolve.h"
#include "canonicalize/rewrites.h"
#include "ir/literals.h"
#include "ir/rewriter.h"
#include "ir/verify.h"

namespace isthmus {
namespace {

constexpr std::size_t kMostRounds = 64;

constexpr Rewrite kRewrites[] = {
    {"drop-identity", "x -> x: permute by identity, full slice, expand to its own shape, cast to its own type",
     drop_identity},
    {"fold-constants", "f(constants) -> constant", fold_constants},
    {"merge-movement", "permute(permute(x)) -> permute(x); reshape(reshape(x)) -> reshape(x); ...", merge_movement},
    {"merge-clamps", "clamp(clamp(x)) -> clamp(x)", merge_clamps},
    {"matmul-to-linear", "matmul(x, constant) -> linear(x, constant transposed)", matmul_to_linear},
    {"fold-bias", "linear(x) + constant -> linear(x) with a bias", fold_bias},
    {"fold-batch-norm", "batch_norm(conv(x)) -> conv(x) with new weights", fold_batch_norm},
    {"expand-batch-norm", "batch_norm(x) with nothing to fold into -> x * constant + constant", expand_batch_norm},
};

// One sweep over the graph; nothing where the rewrite applied nowhere.
Expected<std::optional<Graph>> sweep(const Graph& graph, const Rewrite& rewrite) {
  std::vector<std::size_t> readers(graph.values().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : node.inputs) ++readers[input.index];
  }
  for (const Output& output : graph.outputs()) {
    if (const auto* id = std::get_if<ValueId>(&output.value)) ++readers[id->index];
  }
  Rewriter rewriter(graph);
  Emitter emitter(rewriter.graph());
  bool has_changed = false;
  for (const Node& node : graph.nodes()) {
    if (node.op == Op::kForeign) {
      rewriter.copy(node);
      continue;
    }
    const std::string& name = graph[node.outputs[0]].name;
    emitter.begin(node.origin, name);
    const std::size_t first_new_value = rewriter.graph().values().size();
    const std::vector<ValueId> inputs = rewriter.map(node.inputs);
    const auto replacement = TRY(rewrite.apply({node, inputs, emitter, rewriter, readers}));
    if (!replacement) {
      rewriter.copy(node);
      continue;
    }
    has_changed = true;
    if (replacement->index >= first_new_value && !rewriter.graph().find(name))
      rewriter.graph().rename(*replacement, name);
    rewriter.replace(node.outputs[0], *replacement);
  }
  if (!has_changed) return std::optional<Graph>();
  return std::optional(without_dead_code(std::move(rewriter).finish()));
}

}  // namespace

std::span<const Rewrite> rewrites() { return kRewrites; }

const TensorView* Site::constant(std::size_t i) const {
  const Constant* found = graph().constant(inputs[i]);
  return found == nullptr || !found->data ? nullptr : &*found->data;
}

Expected<Graph> canonicalize(const Graph& graph, Diagnostics& diagnostics, const CanonicalizeOptions& options,
                             std::vector<RewriteTime>* times) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Clock::time_point start = Clock::now();
  Graph current = without_dead_code(TRY(resolve_spellings(graph, diagnostics)));
  TRY(within(verify(current), "resolve-spellings"));
  std::vector<RewriteTime> spent{{"resolve-spellings", 1, 1, seconds_since(start)}};
  for (const Rewrite& rewrite : kRewrites) spent.push_back({std::string(rewrite.name), 0, 0, 0});
  // A rewrite runs again only if another one changed the graph since.
  std::vector<bool> is_done(std::size(kRewrites), false);
  for (std::size_t round = 0; round < kMostRounds; ++round) {
    bool has_changed = false;
    for (std::size_t i = 0; i < std::size(kRewrites); ++i) {
      const Rewrite& rewrite = kRewrites[i];
      if (is_done[i] || options.skip.contains(rewrite.name)) continue;
      start = Clock::now();
      auto next = TRY(within(sweep(current, rewrite), [&] { return std::string(rewrite.name); }));
      is_done[i] = !next.has_value();
      if (next) {
        current = std::move(*next);
        TRY(within(verify(current), [&] { return std::string(rewrite.name); }));
        has_changed = true;
        for (std::size_t k = 0; k < is_done.size(); ++k) is_done[k] = is_done[k] && k == i;
      }
      ++spent[i + 1].runs;
      spent[i + 1].changes += next ? 1 : 0;
      spent[i + 1].seconds += seconds_since(start);
    }
    if (!has_changed) {
      if (times != nullptr) *times = std::move(spent);
      return current;
    }
  }
  return bad_input(fmt::format("the rewrites did not come to an end after {} rounds", kMostRounds));
}

}  // namespace isthmus
