// Labels, samples, and both runners.
#include "session/evaluate_program.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "calibrate/finite.h"
#include "evaluate/side_by_side.h"
#include "session/float_model.h"
#include "session/foreign_cause.h"
#include "session/io_quant.h"
#include "session/labels.h"
#include "session/runners.h"

namespace isthmus {
Expected<Evaluation> evaluate_program(const OpenFile& file, const ReferenceOpener& open_reference,
                                      const EvaluateOptions& options, Diagnostics& diagnostics,
                                      const std::function<bool(double)>& progress) {
  ProgramOptions on_one_thread = options.program;
  on_one_thread.threads = 1;
  // With the pool that it runs on.
  const auto load_method = [&]() -> Expected<std::shared_ptr<run::Method>> {
    const auto program = std::make_shared<LoadedProgram>(TRY(load_program(file, on_one_thread)));
    return std::shared_ptr<run::Method>(program, &program->method);
  };
  const std::shared_ptr<run::Method> method = TRY(load_method());
  // A program of fixed sizes is compared with the model at just these sizes.
  SizesOfInputs sizes;
  for (const run::TensorInfo& input : method->inputs()) {
    sizes.push_back(input.is_dynamic ? std::nullopt : std::optional(input.sizes));
  }
  const OpenModel& reference = *TRY(open_reference(sizes));
  const Graph& graph = reference.model.graph;
  PrepareOptions wanted = options.prepare;
  for (std::size_t i = 0; i < sizes.size() && i < graph.inputs().size(); ++i) {
    if (sizes[i]) wanted.shapes.inputs[graph[graph.inputs()[i]].name] = *sizes[i];
  }
  const Prepared prepared = TRY(within(prepare(graph, wanted, diagnostics), reference.path));
  TRY(within(demand_known_calls(prepared.graph, diagnostics), reference.path));
  const auto examples = fitting_examples(prepared.graph, reference.model.examples);
  const std::vector<std::int64_t> labels = TRY(labels_of(options.data, diagnostics));
  const auto samples =
      finite_samples(TRY(samples_of(options.data, reference.path, examples, prepared, diagnostics)), prepared.graph);
  FloatModel float_model(prepared, examples);
  const RunnerMaker in_float = TRY(float_model.runners());
  const IoQuant quant =
      TRY(within(io_quant_of(file.bytes, method->inputs().size(), method->output_count()), file.path));
  const RunnerMaker runner = program_runners(load_method, quant, method);
  const auto report = [&](std::size_t done) {
    const auto count = samples->count();
    return !progress || progress(count ? static_cast<double>(done) / static_cast<double>(*count) : 0);
  };
  // Where one of them has states, each sample waits for the one before.
  const bool has_states = !prepared.graph.states().empty() || !method->states().empty();
  const std::size_t threads = has_states ? 1 : options.program.threads;
  return within(evaluate_side_by_side(in_float, runner, *samples, labels, threads, report),
                options.data.is_empty() ? file.path : fmt::format("{} on {}", file.path, options.data.name()));
}

}  // namespace isthmus
