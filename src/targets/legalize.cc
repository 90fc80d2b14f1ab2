// Runs the target's rewrites.
#include "targets/legalize.h"

#include "transforms/simplify/rewrites.h"

namespace isthmus {

Expected<Graph> legalize(Graph graph, const TargetDesc& target, const LegalizeOptions& options,
                         std::vector<RewriteTime>* times) {
  std::vector<Rewrite> rewrites(simplifications().begin(), simplifications().end());
  rewrites.insert(rewrites.end(), target.legalize.begin(), target.legalize.end());
  std::vector<RewriteTime> spent;
  Graph result = TRY(rewrite_to_fixpoint(std::move(graph), rewrites, options.skip, spent, target.forms));
  if (times != nullptr) times->insert(times->end(), spent.begin(), spent.end());
  return result;
}

}  // namespace isthmus
