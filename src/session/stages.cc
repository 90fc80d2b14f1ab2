// One line a stage.
#include "session/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "evaluate/layer_errors.h"
#include "interpret/tensor.h"
#include "ir/verify.h"
#include "program/emit/emit.h"
#include "program/run/method.h"
#include "quantize/config/pins.h"
#include "quantize/improve/correct_biases.h"
#include "quantize/improve/equalize.h"
#include "quantize/plan/precision.h"
#include "quantize/prove/prove.h"
#include "targets/legalize.h"
#include "targets/partition.h"
#include "targets/registry.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus {
namespace {

class Clock {
 public:
  explicit Clock(std::vector<StageTime>& times) : times_(times) {}

  // The result of a stage; the time since the one before is the stage's.
  template <class Result>
  Result stage(Stage stage, Result result) {
    return named(std::string(name_of(stage)), std::move(result));
  }
  template <class Result>
  Result named(std::string name, Result result) {
    const auto now = std::chrono::steady_clock::now();
    times_.push_back({std::move(name), std::chrono::duration<double>(now - last_).count()});
    last_ = now;
    return result;
  }

 private:
  std::vector<StageTime>& times_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// What the program is tried on: the examples where they fit, else zeros of the largest size.
std::vector<Tensor> trial_inputs(const run::Method& method, const std::vector<std::optional<TensorView>>& examples) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < method.inputs().size(); ++i) {
    const run::TensorInfo& wanted = method.inputs()[i];
    const bool has_example =
        i < examples.size() && examples[i] && examples[i]->dtype == wanted.dtype &&
        (wanted.is_dynamic ? examples[i]->sizes.size() == wanted.sizes.size() : examples[i]->sizes == wanted.sizes);
    inputs.push_back(has_example ? Tensor::from(*examples[i]) : Tensor(wanted.dtype, wanted.sizes));
  }
  return inputs;
}

// Reads the file as anybody's file is read, and runs it once.
Expected<void> try_out(const std::vector<std::byte>& bytes, const std::vector<std::optional<TensorView>>& examples,
                       pthreadpool* threads) {
  run::LoadOptions options;
  options.threads = threads;
  const Blob file(bytes, nullptr);
  run::Method method = TRY(run::Method::load(file, "forward", options));
  TRY(method.run(trial_inputs(method, examples)));
  return {};
}

struct StageRow {
  Stage stage;
  std::string_view name;
};
constexpr StageRow kStages[] = {
    {Stage::kLoad, "load"},
    {Stage::kShapes, "shapes"},
    {Stage::kCanonicalize, "canonicalize"},
    {Stage::kLegalize, "legalize"},
    {Stage::kCalibrate, "calibrate"},
    {Stage::kEqualize, "equalize"},
    {Stage::kPlan, "plan"},
    {Stage::kQuantize, "quantize"},
    {Stage::kProve, "prove"},
    {Stage::kCorrect, "correct"},
    {Stage::kPartition, "partition"},
    {Stage::kLower, "lower"},
    {Stage::kEmit, "emit"},
    {Stage::kTry, "try"},
};

}  // namespace

std::string_view name_of(Stage stage) { return std::ranges::find(kStages, stage, &StageRow::stage)->name; }

std::span<const Stage> stages_with_graph() {
  static constexpr Stage kWithGraph[] = {Stage::kLoad, Stage::kCanonicalize, Stage::kLegalize, Stage::kQuantize,
                                         Stage::kPartition};
  return kWithGraph;
}

std::optional<Stage> find_stage(std::string_view name) {
  const auto found = std::ranges::find(stages_with_graph(), name, [](Stage stage) { return name_of(stage); });
  return found == stages_with_graph().end() ? std::nullopt : std::optional(*found);
}

Expected<Graph> canonical_graph(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics,
                                std::vector<StageTime>& times, std::vector<RewriteTime>& rewrites) {
  Clock clock(times);
  const bool needs_numbers = options.target != nullptr && options.target->needs_fixed_sizes;
  const SizesWanted wanted = needs_numbers ? SizesWanted::kKnown : SizesWanted::kBounded;
  const Graph graph =
      TRY(clock.stage(Stage::kShapes, with_requested_shapes(loaded, options.shapes, wanted, diagnostics)));
  return clock.stage(Stage::kCanonicalize, canonicalize(graph, diagnostics, {}, &rewrites));
}

Expected<Prepared> prepare(const Graph& loaded, const PrepareOptions& options, Diagnostics& diagnostics) {
  Prepared result;
  Graph canonical = TRY(canonical_graph(loaded, options, diagnostics, result.times, result.rewrites));
  Clock clock(result.times);
  result.graph =
      TRY(clock.stage(Stage::kLegalize, legalize(std::move(canonical), *options.target, {}, &result.rewrites)));
  result.partitioning = clock.stage(Stage::kPartition, partition(result.graph, *options.target));
  return result;
}

Expected<void> keep_in_float(Prepared& prepared, const TargetDesc& target) {
  if (!is_quantized_by_archive(prepared.graph)) return {};
  prepared.graph = TRY(with_conversions(prepared.graph));
  prepared.partitioning = partition(prepared.graph, target);
  return {};
}

namespace {

// XNNPACK makes a clamp part of the node before it, and what lies between is never seen. Where some target computes the
// two apart it is asked for: what somebody reads outside of a segment exists.
Partitioning with_all_measured(const Graph& graph, Partitioning on_xnnpack) {
  const auto is_apart_somewhere = [&](const Node& maker) {
    return std::ranges::any_of(all_targets(), [&](const TargetDesc* target) {
      return target->integers.takes_bounds == nullptr || !target->integers.takes_bounds(maker);
    });
  };
  for (Segment& segment : on_xnnpack.segments) {
    for (const NodeId id : segment.nodes) {
      if (!std::holds_alternative<ClampAttrs>(graph[id].attrs)) continue;
      const ValueId before = graph[id].inputs[0];
      const Node* maker = graph.producer(before);
      const bool is_inside = maker != nullptr && std::ranges::find(segment.inputs, before) == segment.inputs.end();
      if (!is_inside || !is_apart_somewhere(*maker)) continue;
      if (std::ranges::find(segment.outputs, before) == segment.outputs.end()) segment.outputs.push_back(before);
    }
  }
  return on_xnnpack;
}

Partitioning nothing_delegated(const Graph& graph) {
  Partitioning result;
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) result.schedule.emplace_back(NodeId{i});
  return result;
}

}  // namespace

Expected<Statistics> calibrate(const Prepared& prepared, Samples& samples, const xnnpack::ThreadPool& threads,
                               const Progress& progress, Diagnostics& diagnostics, FloatKernels kernels) {
  if (kernels == FloatKernels::kReference) {
    Statistics statistics =
        TRY(calibrate(prepared.graph, {nothing_delegated(prepared.graph)}, samples, threads, progress, diagnostics));
    statistics.is_reproducible = true;
    return statistics;
  }
  const FloatSegments segments{
      .partitioning = with_all_measured(prepared.graph, partition(prepared.graph, local_float_target())),
      .build = build_float_segment};
  return calibrate(prepared.graph, segments, samples, threads, progress, diagnostics);
}

namespace {

// Pins that the device cannot hold beside each other give way, and the model says so from then on.
Expected<QuantPlan> plan_with_pins(Graph& model, const TargetDesc& target, const Statistics* statistics,
                                   const QuantConfig& config, Diagnostics& diagnostics) {
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    Diagnostics said = diagnostics;
    QuantPlan found = TRY(plan(model, target, statistics, config, said));
    if (found.moved_pins.empty()) {
      diagnostics = std::move(said);
      return found;
    }
    for (const auto& [value, pin] : found.moved_pins) {
      const double before = std::get<FakeQuantizeAttrs>(model.producer(value)->attrs).scale;
      diagnostics.warn("illegal-ratio", model[value].name,
                       fmt::format("{} cannot bridge the scales that the archive gives around %{}: its own is widened "
                                   "from {:.6g} to {:.6g}; give its neighbours ranges that are closer to each other",
                                   target.name, model[value].name, before, static_cast<double>(pin.quant.scale())));
    }
    model = with_pins(model, found.moved_pins);
  }
  return bad_input("the parameters that the archive gives found no ratios that the device has");
}

}  // namespace

Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, Diagnostics& diagnostics) {
  QuantizedModel result;
  Clock clock(result.times);
  result.model = TRY(settle_pins(prepared.graph, target, diagnostics));
  Equalized equalized;
  if (config.equalize && statistics != nullptr) {
    equalized = TRY(clock.stage(Stage::kEqualize, equalize(result.model, *statistics)));
    result.model = std::move(equalized.graph);
    statistics = &equalized.statistics;
  }
  result.plan = TRY(clock.stage(Stage::kPlan, plan_with_pins(result.model, target, statistics, config, diagnostics)));
  const Graph& graph = result.model;
  result.quantized = TRY(clock.stage(Stage::kQuantize, apply(graph, result.plan, target, statistics, config)));
  TRY(verify(result.quantized.graph));
  TRY(clock.stage(Stage::kProve, prove(result.quantized, target, graph, config)));
  result.partitioning = clock.stage(Stage::kPartition, partition(result.quantized.graph, target));
  return result;
}

bool needs_samples(const QuantConfig& config) {
  return config.promote > 0 || config.bias_correction == BiasCorrection::kSequential;
}

namespace {

// The nodes whose own rounding is the worst: those that compute, not those that hand on what others computed.
QuantConfig with_promoted(QuantConfig config, const QuantizedModel& model, const TargetDesc& target,
                          std::vector<ValueError> errors) {
  std::ranges::stable_sort(errors, {}, [](const ValueError& error) { return error.rounding.db(); });
  const std::vector<bool> is_fused = fused_clamps(model.model, target);
  const auto promote = [&](ValueId value) {
    QuantRule rule;
    rule.node = model.model[value].name;
    if (target.integers.has_float) {
      rule.in_float = true;
    } else {
      rule.storage = DType::kI16;
    }
    config.rules.push_back(std::move(rule));
  };
  std::size_t left = config.promote;
  for (const ValueError& error : errors) {
    const Node* maker = model.model.producer(error.value);
    if (left == 0) break;
    if (maker == nullptr) continue;
    // A clamp that is part of the node before it goes with that.
    const bool is_part = is_fused[model.model[error.value].index];
    if (must_share(target.integers, maker->op) && !is_part) continue;
    promote(error.value);
    if (is_part) promote(maker->inputs[0]);
    --left;
  }
  return config;
}

}  // namespace

Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, const std::vector<std::vector<Tensor>>& samples,
                                  Diagnostics& diagnostics) {
  QuantConfig wanted = config;
  if (config.promote > 0) {
    Diagnostics ignored;
    const QuantizedModel first = TRY(quantize(prepared, target, statistics, config, ignored));
    const auto source = given_samples(samples);
    wanted =
        with_promoted(config, first, target,
                      TRY(layer_errors(first.model, first.quantized, first.plan, target, *source, samples.size())));
  }
  QuantizedModel result = TRY(quantize(prepared, target, statistics, wanted, diagnostics));
  if (config.bias_correction == BiasCorrection::kSequential) {
    Clock clock(result.times);
    TRY(clock.stage(Stage::kCorrect, correct_biases(result.model, result.quantized, target, samples)));
    TRY(clock.stage(Stage::kProve, prove(result.quantized, target, result.model, wanted)));
  }
  return result;
}

namespace {

// What the step makes of each delegate of the program takes its place there.
Expected<std::vector<FinishedDelegate>> finish_delegates(pte::Program& program, const Finisher& finisher) {
  std::vector<FinishedDelegate> results;
  for (pte::Delegate& delegate : program.plans[0].delegates) {
    results.push_back(TRY(within(finisher.run(delegate), fmt::format("delegate {}", results.size()))));
    delegate = results.back().delegate;
  }
  return results;
}

}  // namespace

Expected<Compiled> compile(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target,
                           const std::vector<std::optional<TensorView>>& examples, pthreadpool* threads,
                           const Finisher* finisher, const std::vector<Order>& input_orders) {
  Compiled result;
  Clock clock(result.times);
  LoweredProgram lowered = TRY(clock.stage(Stage::kLower, lower(graph, partitioning, target, input_orders)));
  pte::Program program = lowered.program;
  Emitted emitted = TRY(clock.stage(Stage::kEmit, emit(std::move(lowered.program))));
  TRY(clock.stage(Stage::kTry, within(try_out(emitted.bytes, examples, threads), "the finished file, read back")));
  result.bytes = std::move(emitted.bytes);
  result.delegates = std::move(lowered.delegates);
  result.memory = emitted.memory;
  if (finisher != nullptr) {
    result.finished_by = finisher->name;
    result.finished = TRY(clock.named(result.finished_by, finish_delegates(program, *finisher)));
    result.unfinished_bytes = std::move(result.bytes);
    result.bytes = TRY(clock.stage(Stage::kEmit, emit(std::move(program)))).bytes;
  }
  return result;
}

}  // namespace isthmus
