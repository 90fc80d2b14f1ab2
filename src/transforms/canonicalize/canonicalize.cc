// Resolves spellings, then runs the table of rewrites to a fixpoint.
#include "transforms/canonicalize/canonicalize.h"

#include <fmt/format.h>

#include <chrono>

#include "ir/literals.h"
#include "ir/verify.h"
#include "transforms/canonicalize/archive_weights.h"
#include "transforms/canonicalize/resolve.h"
#include "transforms/canonicalize/rewrites.h"
#include "transforms/simplify/rewrites.h"

namespace isthmus {
namespace {

constexpr Rewrite kRewrites[] = {
    {.name = "take-branch", .what = "cond with a constant predicate -> its branch", .apply = take_branch},
    {.name = "raise-gelu", .what = "x * (1 + erf(x / sqrt(2))) / 2 -> gelu(x)", .apply = raise_gelu},
    {.name = "raise-silu", .what = "x * sigmoid(x) -> silu(x)", .apply = raise_silu},
    {.name = "raise-layer-norm",
     .what = "(x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) -> layer_norm(x)",
     .apply = raise_layer_norm},
    {.name = "fold-into-layer-norm",
     .what = "layer_norm(x) * weight + bias -> layer_norm(x, weight, bias)",
     .apply = fold_into_layer_norm},
    {.name = "raise-attention",
     .what = "softmax(q k^T * scale + mask) v -> attention(q, k, v, mask)",
     .apply = raise_attention},
    {.name = "lower-permutes",
     .what = "relu(permute(x)) -> permute(relu(x)), where a later permute undoes the first",
     .apply = lower_permutes},
    {.name = "reduce-before-permute",
     .what = "mean(permute(x)) -> mean(x) over other axes",
     .apply = reduce_before_permute},
    {.name = "raise-dynamic",
     .what = "cast(linear(q - zero_point, w)) * (scale * s) -> linear(dynamic_quantize(x), w * s)",
     .apply = raise_dynamic},
    {.name = "matmul-to-linear",
     .what = "matmul(x, constant) -> linear(x, constant transposed)",
     .apply = matmul_to_linear},
    {.name = "fold-bias", .what = "linear(x) + constant -> linear(x) with a bias", .apply = fold_bias},
    {.name = "fold-batch-norm", .what = "batch_norm(conv(x)) -> conv(x) with new weights", .apply = fold_batch_norm},
    {.name = "expand-batch-norm",
     .what = "batch_norm(x) without a layer to fold into -> x * constant + constant",
     .apply = expand_batch_norm},
};

// What every run leaves as it is needs no writing, and is a constant unless it is an input.
Graph without_unchanged(Graph graph) {
  std::vector<ValueId> unchanged;
  for (const Output& output : graph.outputs()) {
    const auto* id = std::get_if<ValueId>(&output.value);
    const bool is_itself = id != nullptr && graph[*id].name == output.target;
    if (output.kind == OutputKind::kMutation && is_itself) unchanged.push_back(*id);
  }
  for (const ValueId id : unchanged) graph.forget_mutation(id);
  return graph;
}

// What the numbers choose when the model runs.
Expected<void> refuse_branches(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op != Op::kBranch) continue;
    Expected<void> refused =
        fail(ErrorKind::kUnsupported,
             fmt::format("its predicate %{} is known only at run time: control flow cannot be compiled. Compute both "
                         "branches and select with torch.where, or export each branch as a separate model",
                         graph[node.inputs[0]].name));
    return within(std::move(refused), "higher_order.cond" + origin_suffix(node.origin));
  }
  return {};
}

}  // namespace

Expected<Graph> canonicalize(const Graph& graph, Diagnostics& diagnostics, const CanonicalizeOptions& options,
                             std::vector<RewriteTime>* times) {
  const auto start = std::chrono::steady_clock::now();
  Graph resolved = without_dead_code(without_unchanged(TRY(resolve_spellings(graph, diagnostics))));
  TRY(within(verify(resolved), "resolve-spellings"));
  warn_of_weights(resolved, diagnostics);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::vector<RewriteTime> spent{{"resolve-spellings", 1, 1, elapsed.count()}};
  std::vector<Rewrite> rewrites(simplifications().begin(), simplifications().end());
  rewrites.insert(rewrites.end(), std::begin(kRewrites), std::end(kRewrites));
  Graph result = TRY(rewrite_to_fixpoint(std::move(resolved), rewrites, options.skip, spent));
  TRY(refuse_branches(result));
  if (times != nullptr) *times = std::move(spent);
  return result;
}

}  // namespace isthmus
