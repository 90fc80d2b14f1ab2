// The stages in order: from a model to a program file, and how far one wants to go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "calibrate/calibrate.h"
#include "frontends/model.h"
#include "frontends/shapes.h"
#include "ir/graph.h"
#include "ops/rewrite.h"
#include "program/emit/memory_plan.h"
#include "program/lower/lower.h"
#include "quantize/apply/apply.h"
#include "quantize/config/config.h"
#include "quantize/plan/plan.h"
#include "targets/finish.h"
#include "targets/partitioning.h"
#include "targets/target.h"

struct pthreadpool;

namespace isthmus {

enum class Stage : std::uint8_t {
  kLoad,
  kShapes,
  kCanonicalize,
  kLegalize,
  kCalibrate,
  kEqualize,
  kPlan,
  kQuantize,
  kProve,
  kCorrect,
  kPartition,
  kLower,
  kEmit,
  kTry,
};
std::string_view name_of(Stage stage);
// After which there is a graph to show, in order.
std::span<const Stage> stages_with_graph();
// Null where no stage with a graph has this name.
std::optional<Stage> find_stage(std::string_view name);

// What each stage took, in the order in which they ran; a finishing step of the target by its own name.
struct StageTime {
  std::string stage;
  double seconds = 0;
};

struct PrepareOptions {
  const TargetDesc* target = nullptr;
  ShapeRequest shapes;
};

// A model as its target wants it, and where each node runs. Needs no data and writes nothing.
struct Prepared {
  Graph graph;
  Partitioning partitioning;
  std::vector<StageTime> times;
  std::vector<RewriteTime> rewrites;
};

Expected<Graph> canonical_graph(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics,
                                std::vector<StageTime>& times, std::vector<RewriteTime>& rewrites);
Expected<Prepared> prepare(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics);

// The same to be compiled in float. What the archive has quantized is rounded as it is there.
Expected<void> keep_in_float(Prepared& prepared, const TargetDesc& target);

// What a calibration computes floats with.
enum class FloatKernels : std::uint8_t {
  kXnnpack,    // the local library, whatever the target; what that lacks runs on the reference kernels
  kReference,  // the reference kernels alone, which give the same bits on every CPU
};

// The statistics of every value of the prepared graph.
Expected<Statistics> calibrate(const Prepared& prepared, Samples& samples, const xnnpack::ThreadPool& threads,
                               const Progress& progress, Diagnostics& diagnostics,
                               FloatKernels kernels = FloatKernels::kXnnpack);

// A model in codes.
struct QuantizedModel {
  Graph model;     // in float: the prepared graph, its channels equalized where that was wanted
  QuantPlan plan;  // of that graph
  Quantized quantized;
  Partitioning partitioning;  // of the quantized graph
  std::vector<StageTime> times;
};

// Without statistics the types are right and the parameters mean nothing: enough to say where each node runs. The
// result has been proven against the demands of the target.
Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, Diagnostics& diagnostics);

// Whether the configuration asks for something that has to see samples again.
bool needs_samples(const QuantConfig& config);

// The same with some samples at hand: the worst nodes in float where that is wanted, biases corrected layer by layer.
Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, const std::vector<std::vector<Tensor>>& samples,
                                  Diagnostics& diagnostics);

struct Compiled {
  std::vector<std::byte> bytes;  // of the program file
  // Of the same program before its delegates were finished, which this machine can run; empty where `bytes` are those.
  std::vector<std::byte> unfinished_bytes;
  std::string finished_by;                 // the name of the step; empty where there was none
  std::vector<FinishedDelegate> finished;  // what it made of each delegate
  std::vector<DelegateSummary> delegates;
  MemoryPlan memory;
  std::vector<StageTime> times;

  const std::vector<std::byte>& runnable() const { return unfinished_bytes.empty() ? bytes : unfinished_bytes; }
};

// Every delegate has been built by the local runtime, and the whole file was read back and run on `examples` (on
// zeros where there are none): what any of them refuses is an error, and there are no bytes. Then the finisher
// gets the delegates, where there is one. For `input_orders` see lower.h.
Expected<Compiled> compile(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target,
                           const std::vector<std::optional<TensorView>>& examples, pthreadpool* threads,
                           const Finisher* finisher = nullptr, const std::vector<Order>& input_orders = {});
// The same of a model that stays in float.
inline Expected<Compiled> compile(const Prepared& prepared, const TargetDesc& target,
                                  const std::vector<std::optional<TensorView>>& examples, pthreadpool* threads) {
  return compile(prepared.graph, prepared.partitioning, target, examples, threads);
}

}  // namespace isthmus
