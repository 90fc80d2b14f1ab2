// Shapes, canonicalize, legalize.
#include "session/prepare.h"

#include <utility>

#include "quantize/config/pins.h"
#include "targets/legalize.h"
#include "targets/partition.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus {

Expected<Graph> canonical_graph(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics,
                                std::vector<StageTime>& times, std::vector<RewriteTime>& rewrites) {
  StageClock clock(times);
  const bool needs_numbers = options.target != nullptr && options.target->needs_fixed_sizes;
  const SizesWanted wanted = needs_numbers ? SizesWanted::kKnown : SizesWanted::kBounded;
  const Graph graph =
      TRY(clock.stage(Stage::kShapes, with_requested_shapes(loaded, options.shapes, wanted, diagnostics)));
  return clock.stage(Stage::kCanonicalize, canonicalize(graph, diagnostics, {}, &rewrites));
}

Expected<Prepared> prepare(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics) {
  Prepared result;
  Graph canonical = TRY(canonical_graph(loaded, options, diagnostics, result.times, result.rewrites));
  StageClock clock(result.times);
  result.graph =
      TRY(clock.stage(Stage::kLegalize, legalize(std::move(canonical), *options.target, {}, &result.rewrites)));
  return result;
}

Expected<void> keep_in_float(Prepared& prepared, const TargetDesc& target) {
  StageClock clock(prepared.times);
  if (is_quantized_by_archive(prepared.graph)) prepared.graph = TRY(with_conversions(prepared.graph));
  prepared.partitioning = clock.stage(Stage::kPartition, partition(prepared.graph, target));
  return {};
}

Expected<Prepared> prepare_float(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics) {
  Prepared result = TRY(prepare(loaded, options, diagnostics));
  TRY(keep_in_float(result, *options.target));
  return result;
}

}  // namespace isthmus
