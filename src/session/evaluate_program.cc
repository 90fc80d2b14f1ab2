// Labels, samples, and both runners.
#include "session/evaluate_program.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/finite.h"
#include "evaluate/side_by_side.h"
#include "session/float_model.h"
#include "session/foreign_cause.h"
#include "session/io_quant.h"
#include "session/labels.h"
#include "session/program_sizes.h"
#include "session/runners.h"
#include "session/shard_work.h"

namespace isthmus {
namespace {

// What is there before a sample is run.
struct Work {
  MethodLoader load;
  std::shared_ptr<run::Method> method;
  Prepared prepared;
  std::vector<std::optional<TensorView>> examples;
  std::vector<std::int64_t> labels;
  std::unique_ptr<Samples> samples;
  const ShardSamples* part = nullptr;  // of these

  bool has_states() const { return !prepared.graph.states().empty() || !method->states().empty(); }
};

std::string name_of_data(const OpenFile& file, const EvaluateOptions& options) {
  return options.data.is_empty() ? file.path : fmt::format("{} on {}", file.path, options.data.name());
}

// Samples hold on to the graph of the work, so that it stays where it is.
Expected<std::unique_ptr<Work>> open_work(const OpenFile& file, const ReferenceOpener& open_reference,
                                          const EvaluateOptions& options, Diagnostics& diagnostics) {
  auto work = std::make_unique<Work>();
  ProgramOptions on_one_thread = options.program;
  on_one_thread.threads = 1;
  // With the pool that it runs on.
  work->load = [file, on_one_thread]() -> Expected<std::shared_ptr<run::Method>> {
    const auto program = std::make_shared<LoadedProgram>(TRY(load_program(file, on_one_thread)));
    return std::shared_ptr<run::Method>(program, &program->method);
  };
  work->method = TRY(work->load());
  // A program of fixed sizes is compared with the model at just these sizes.
  const SizesOfInputs sizes = sizes_of(work->method->inputs());
  const OpenModel& reference = *TRY(open_reference(sizes));
  const Graph& graph = reference.model.graph;
  const PrepareOptions wanted = at_sizes(options.prepare, graph, sizes);
  work->prepared = TRY(within(prepare(graph, wanted, diagnostics), reference.path));
  TRY(within(demand_known_calls(work->prepared.graph, diagnostics), reference.path));
  work->examples = fitting_examples(work->prepared.graph, reference.model.examples);
  work->labels = TRY(labels_of(options.data, diagnostics));
  work->samples = TRY(samples_of(options.data, reference.path, work->examples, work->prepared, diagnostics));
  if (options.data.shard) {
    auto part = TRY(within(shard_of(std::move(work->samples), *options.data.shard, work->has_states()),
                           name_of_data(file, options)));
    work->part = part.get();
    work->samples = std::move(part);
  }
  work->samples = finite_samples(std::move(work->samples), work->prepared.graph);
  return work;
}

Expected<Manifest> manifest_of(const Work& work, const OpenFile& file, const EvaluateOptions& options) {
  Manifest manifest = work.part->manifest();
  manifest.facts = TRY(evaluation_facts(file.bytes, options.program, work.prepared, options.data, work.labels));
  return manifest;
}

}  // namespace

Expected<Evaluation> evaluate_program(const OpenFile& file, const ReferenceOpener& open_reference,
                                      const EvaluateOptions& options, Diagnostics& diagnostics,
                                      const std::function<bool(double)>& progress) {
  const auto work = TRY(open_work(file, open_reference, options, diagnostics));
  FloatModel float_model(work->prepared, work->examples);
  const RunnerMaker in_float = TRY(float_model.runners());
  const IoQuant quant =
      TRY(within(io_quant_of(file.bytes, work->method->inputs().size(), work->method->output_count()), file.path));
  const RunnerMaker runner = program_runners(work->load, quant, work->method);
  const auto report = [&](std::size_t done) {
    const auto count = work->samples->count();
    return !progress || progress(count ? static_cast<double>(done) / static_cast<double>(*count) : 0);
  };
  // Where one of them has states, each sample waits for the one before.
  const std::size_t threads = work->has_states() ? 1 : options.program.threads;
  Evaluation result = TRY(within(evaluate_side_by_side(in_float, runner, *work->samples, work->labels, threads, report),
                                 name_of_data(file, options)));
  if (work->part != nullptr) result.part = TRY(manifest_of(*work, file, options));
  return result;
}

Expected<Manifest> evaluation_manifest(const OpenFile& file, const ReferenceOpener& open_reference,
                                       const EvaluateOptions& options) {
  Diagnostics said_again;
  const auto work = TRY(open_work(file, open_reference, options, said_again));
  TRY(within(read_all(*work->samples), name_of_data(file, options)));
  return manifest_of(*work, file, options);
}

}  // namespace isthmus
