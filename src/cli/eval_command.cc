// isthmus eval
#include <fmt/format.h>

#include <memory>

#include "calibrate/finite.h"
#include "session/data.h"
#include "cli/commands.h"
#include "session/runners.h"
#include "cli/model_options.h"
#include "session/open_model.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "formats/npz.h"
#include "report/eval.h"

namespace isthmus {
namespace {

struct EvalOptions {
  std::string file;
  ModelOptions reference;
  DataOptions samples;
  ProgramOptions program;
  bool wants_json = false;
};

// The classes of an .npz file, where it has any; that it has none is said.
Expected<std::vector<std::int64_t>> labels_of(const std::string& path, Diagnostics& diagnostics) {
  std::vector<std::int64_t> labels;
  if (path.empty()) return labels;
  const auto without = [&](std::string_view why) {
    diagnostics.note("no-labels", "", fmt::format("{} {}: top-1 is not computed", path, why));
    return labels;
  };
  if (!path.ends_with(".npz")) return without("is no .npz file that could have an array \"labels\"");
  Npz npz = TRY(within(Npz::open(TRY(map_file(path))), path));
  const NpzArray* array = npz.find("labels");
  if (array == nullptr) return without("has no array \"labels\"");
  const auto place = [&] { return fmt::format("array \"labels\" of {}", path); };
  const Tensor data = Tensor::from(TRY(within(npz.read(*array), place)));
  if (!is_integer(data.dtype()) || data.rank() != 1) {
    return within(Expected<std::vector<std::int64_t>>(bad_input("expected one integer for each sample")), place);
  }
  dispatch(data.dtype(), [&]<class Number>(Number) {
    for (const Number label : data.data<Number>()) labels.push_back(static_cast<std::int64_t>(label));
  });
  return labels;
}

Expected<void> evaluate_file(const EvalOptions& options) {
  const OpenFile file = TRY(open_file(options.file));
  ProgramOptions on_one_thread = options.program;
  on_one_thread.threads = 1;
  const LoadedProgram program = TRY(load_program(file, on_one_thread));
  Diagnostics diagnostics;
  OpenModel opened = TRY(open_model(options.reference.file, diagnostics));
  PrepareOptions wanted = TRY(prepare_options(options.reference));
  // A program of fixed sizes is compared with the model at just these sizes.
  for (std::size_t i = 0; i < program.method.inputs().size() && i < opened.model.graph.inputs().size(); ++i) {
    const run::TensorInfo& input = program.method.inputs()[i];
    if (!input.is_dynamic) wanted.shapes.inputs[opened.model.graph[opened.model.graph.inputs()[i]].name] = input.sizes;
  }
  const Prepared prepared = TRY(within(prepare(opened.model.graph, wanted, diagnostics), options.reference.file));
  opened.model.examples = fitting_examples(prepared.graph, std::move(opened.model.examples));
  const std::vector<std::int64_t> labels = TRY(labels_of(options.samples.data, diagnostics));
  const auto samples = finite_samples(
      TRY(samples_of(options.samples, options.reference.file, opened.model, prepared, diagnostics)), prepared.graph);
  const RunnerMaker reference = TRY(float_runners(prepared, opened.model));
  const RunnerMaker runner = [&]() -> Expected<Runner> {
    const auto own = std::make_shared<LoadedProgram>(TRY(load_program(file, on_one_thread)));
    return Runner([own](std::span<const Tensor> inputs) { return own->method.run(inputs); });
  };
  ProgressBar bar("evaluating");
  const auto progress = [&](std::size_t done) {
    if (const auto count = samples->count()) bar.show(static_cast<double>(done) / static_cast<double>(*count));
    return true;
  };
  // Where one of them has states, each sample waits for the one before.
  const bool has_states = !prepared.graph.states().empty() || !program.method.states().empty();
  const std::size_t threads = has_states ? 1 : options.program.threads;
  auto result = evaluate_side_by_side(reference, runner, *samples, labels, threads, progress);
  bar.clear();
  const std::string place =
      options.samples.data.empty() ? options.file : fmt::format("{} on {}", options.file, options.samples.data);
  const EvalSummary summary{options.file, TRY(within(std::move(result), place)), diagnostics.entries()};
  if (!options.wants_json) print_diagnostics(diagnostics);
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary));
  return {};
}

}  // namespace

Command add_eval(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("eval", "Accuracy of a program, its agreement with the model in float, and its noise.");
  const auto options = std::make_shared<EvalOptions>();
  options->reference.target = "xnnpack";
  options->program.threads = default_threads();
  command->add_option("FILE", options->file, "a program file (.pte)")->required();
  command->add_option("--reference", options->reference.file, "the model that it was made of (.pt2)")->required();
  command->add_option(
      "--data", options->samples.data,
      "an .npz with one array per input, and `labels` where there are classes; or a folder; without it, "
      "the examples of the model");
  command->add_option("--samples", options->samples.most, "at most so many samples")->check(CLI::PositiveNumber);
  add_sequence(*command, options->samples);
  add_program_options(*command, options->program);
  command->get_option("--threads")
      ->description("samples at the same time; as many as there are CPUs for this process by default");
  command->add_flag("--json", options->wants_json, "one JSON object on standard output");
  command->footer("Example:\n  isthmus eval model.pte --reference model.pt2 --data test.npz");
  return {command, [options] { return fine(evaluate_file(*options)); }};
}

}  // namespace isthmus
