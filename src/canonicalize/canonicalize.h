// Brings a loaded graph to its one canonical form: ops of the table only, whatever the frontend called them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus {

struct CanonicalizeOptions {
  std::set<std::string, std::less<>> skip;  // names of rewrites that are not run
};

// How often a rewrite ran and changed something, and how long it took in all.
struct RewriteTime {
  std::string name;
  std::size_t runs = 0;
  std::size_t changes = 0;
  double seconds = 0;
};

// No op in place, no views, constants folded, batch norm inside convolutions. Names that the table does not know stay
// foreign; each is noted with the reason. Knows no target. Canonicalizing twice is the same as once.
Expected<Graph> canonicalize(const Graph& graph, Diagnostics& diagnostics, const CanonicalizeOptions& options = {},
                             std::vector<RewriteTime>* times = nullptr);

}  // namespace isthmus
