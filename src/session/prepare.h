// A model as its target wants it, still in float.
#pragma once

#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "frontends/shapes.h"
#include "ir/graph.h"
#include "ops/rewrite.h"
#include "session/stage.h"
#include "targets/partitioning.h"
#include "targets/target.h"

namespace isthmus {

struct PrepareOptions {
  const TargetDesc* target = nullptr;
  ShapeRequest shapes;
};

// Needs no data and writes nothing.
struct Prepared {
  Graph graph;
  Partitioning partitioning;  // of the graph in float: only after `keep_in_float`
  std::vector<StageTime> times;
  std::vector<RewriteTime> rewrites;
};

// The stages `shapes` and `canonicalize`.
Expected<Graph> canonical_graph(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics,
                                std::vector<StageTime>& times, std::vector<RewriteTime>& rewrites);
// And `legalize`.
Expected<Prepared> prepare(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics);

// For a compile in float: values that the archive has quantized are rounded as they are there, and the graph is
// partitioned.
Expected<void> keep_in_float(Prepared& prepared, const TargetDesc& target);

// Both.
Expected<Prepared> prepare_float(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics);

}  // namespace isthmus
