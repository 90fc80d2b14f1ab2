// Conditions whose predicate is known before the model runs.
#include "ops/known.h"
#include "transforms/canonicalize/rewrites.h"

namespace isthmus {

Replacement take_branch(const Site& site) {
  if (site.node.op != Op::kBranch) return unchanged();
  const auto predicate = known_integers(site.graph(), site.inputs[0]);
  if (!predicate || predicate->size() != 1) return unchanged();
  return std::optional(site.inputs[predicate->front() != 0 ? 1 : 2]);
}

}  // namespace isthmus
