// Lower, emit, try, finish.
#include "session/compile.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "interpret/tensor.h"
#include "program/emit/emit.h"

namespace isthmus {
namespace {

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

// Reads the file as any other file is read, and runs it once.
Expected<std::shared_ptr<run::Method>> try_out(const LargeBytes& bytes,
                                               const std::vector<std::optional<TensorView>>& examples,
                                               pthreadpool* threads) {
  run::LoadOptions options;
  options.threads = threads;
  const Blob file(bytes, nullptr);
  auto method = std::make_shared<run::Method>(TRY(run::Method::load(file, "forward", options)));
  TRY(method->run(trial_inputs(*method, examples)));
  return method;
}

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
                           const std::vector<Order>& input_orders, const std::vector<pte::NamedData>& attached) {
  CHECK(partitioning.place.size() == graph.nodes().size(), "the graph is not partitioned");
  Compiled result;
  StageClock clock(result.times);
  LoweredProgram lowered = TRY(clock.stage(Stage::kLower, lower(graph, partitioning, target, input_orders)));
  lowered.program.named_data.insert(lowered.program.named_data.end(), attached.begin(), attached.end());
  result.program = lowered.program;
  Emitted emitted = TRY(clock.stage(Stage::kEmit, emit(std::move(lowered.program))));
  result.method =
      TRY(clock.stage(Stage::kTry, within(try_out(emitted.bytes, examples, threads), "the finished file, read back")));
  result.bytes = std::move(emitted.bytes);  // which the method goes on reading
  result.delegates = std::move(lowered.delegates);
  result.made_by = std::move(lowered.made_by);
  result.memory = emitted.memory;
  return result;
}

Expected<void> finish(Compiled& compiled, const Finisher& finisher) {
  StageClock clock(compiled.times);
  pte::Program program = compiled.program;
  compiled.finished_by = finisher.name;
  compiled.finished =
      TRY(clock.stage_named(Stage::kFinish, std::string(finisher.name), finish_delegates(program, finisher)));
  compiled.unfinished_bytes = std::move(compiled.bytes);
  compiled.bytes = TRY(clock.stage(Stage::kEmit, emit(std::move(program)))).bytes;
  return {};
}

}  // namespace isthmus
