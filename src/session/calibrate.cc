// Chooses the kernels that calibration runs on.
#include "session/calibrate.h"

#include <optional>
#include <vector>

namespace isthmus {
namespace {

Partitioning nothing_delegated(const Graph& graph) {
  Partitioning result;
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) result.schedule.emplace_back(NodeId{i});
  return result;
}

}  // namespace

Expected<Statistics> calibrate(const Prepared& prepared, FloatModel& float_model, Samples& samples,
                               const xnnpack::ThreadPool& threads, const Progress& progress, Diagnostics& diagnostics,
                               FloatKernels kernels) {
  if (kernels == FloatKernels::kReference) {
    Statistics statistics =
        TRY(calibrate(prepared.graph, {nothing_delegated(prepared.graph)}, samples, threads, progress, diagnostics));
    statistics.is_reproducible = true;
    return statistics;
  }
  return calibrate(prepared.graph, float_model.segments(), samples, threads, progress, diagnostics);
}

Expected<Statistics> calibrate(const Prepared& prepared, Samples& samples, const xnnpack::ThreadPool& threads,
                               const Progress& progress, Diagnostics& diagnostics, FloatKernels kernels) {
  const std::vector<std::optional<TensorView>> no_examples;
  FloatModel float_model(prepared, no_examples);
  return calibrate(prepared, float_model, samples, threads, progress, diagnostics, kernels);
}

}  // namespace isthmus
