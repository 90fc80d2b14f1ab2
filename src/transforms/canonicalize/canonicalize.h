// Brings a loaded graph to its one canonical form: ops of the table only, whatever the frontend called them.
#pragma once

#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "ir/graph.h"
#include "ops/rewrite.h"

namespace isthmus {

struct CanonicalizeOptions {
  RewriteNames skip;  // names of rewrites that are not run
};

// No op in place, no views, constants folded, batch norm inside convolutions. Names that the table does not know stay
// foreign; each is noted with the reason. Knows no target. Canonicalizing twice is the same as once.
Expected<Graph> canonicalize(const Graph& graph, Diagnostics& diagnostics, const CanonicalizeOptions& options = {},
                             std::vector<RewriteTime>* times = nullptr);

}  // namespace isthmus
