// Expresses what a target has no single form for by what it has, still in float.
#pragma once

#include <vector>

#include "base/expected.h"
#include "ir/graph.h"
#include "ops/rewrite.h"
#include "targets/target.h"

namespace isthmus {

struct LegalizeOptions {
  RewriteNames skip;  // names of rewrites that are not run
};

// The rows of the target's table and the simplifications, to a fixpoint. What has no form even then stays as it is.
Expected<Graph> legalize(Graph graph, const TargetDesc& target, const LegalizeOptions& options = {},
                         std::vector<RewriteTime>* times = nullptr);

}  // namespace isthmus
