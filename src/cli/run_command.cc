// isthmus run
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "canonicalize/canonicalize.h"
#include "cli/arrays.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "exec/interpreter.h"
#include "report/run.h"

namespace isthmus {
namespace {

struct RunOptions {
  std::string file;
  std::vector<std::string> inputs;
  std::string folder;
  ProgramOptions program;
  bool wants_json = false;
};

Expected<std::vector<Tensor>> inputs_of(const RunOptions& options, const Model& model) {
  if (!options.inputs.empty()) return read_arrays(options.inputs);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < model.examples.size(); ++i) {
    if (!model.examples[i]) {
      return bad_input(
          fmt::format("{} has no example for its input {}: give every input with --input", options.file, i));
    }
    tensors.push_back(Tensor::from(*model.examples[i]));
  }
  return tensors;
}

Expected<std::vector<Tensor>> inputs_of(const RunOptions& options, const run::Method& method) {
  if (!options.inputs.empty() || method.inputs().empty()) return read_arrays(options.inputs);
  std::string expected;
  for (const run::TensorInfo& input : method.inputs()) {
    expected += fmt::format("{}{}[{}]{}", expected.empty() ? "" : ", ", name_of(input.dtype),
                            fmt::join(input.sizes, ","), input.is_dynamic ? " at most" : "");
  }
  return bad_input(fmt::format("{} has no examples: give every input with --input ({})", options.file, expected));
}

Expected<std::vector<Tensor>> inputs_of(const RunOptions& options, const tosa::Interpreter& interpreter) {
  if (!options.inputs.empty() || interpreter.inputs().empty()) return read_arrays(options.inputs);
  std::string expected;
  for (const tosa::Port& input : interpreter.inputs()) {
    expected +=
        fmt::format("{}{}[{}]", expected.empty() ? "" : ", ", name_of(input.dtype), fmt::join(input.sizes, ","));
  }
  return bad_input(fmt::format("{} has no examples: give every input with --input ({})", options.file, expected));
}

Expected<RunSummary> run_model(const RunOptions& options, const OpenFile& file) {
  Diagnostics diagnostics;
  const OpenModel opened = TRY(open_model(file, diagnostics));
  const Graph graph = TRY(within(canonicalize(opened.model.graph, diagnostics), options.file));
  const std::vector<Tensor> inputs = TRY(inputs_of(options, opened.model));
  const auto outputs = TRY(within(interpret(graph, inputs), options.file));
  RunSummary summary{TRY(write_outputs(options.folder, outputs)), 0, graph.nodes().size(), 0};
  if (!options.wants_json) print_diagnostics(diagnostics);
  return summary;
}

Expected<RunSummary> run_program(const RunOptions& options, const OpenFile& file) {
  LoadedProgram program = TRY(load_program(file, options.program));
  const std::vector<Tensor> inputs = TRY(inputs_of(options, program.method));
  const auto outputs = TRY(within(program.method.run(inputs), options.file));
  const run::Statistics& statistics = program.method.statistics();
  return RunSummary{TRY(write_outputs(options.folder, outputs)), statistics.delegate_calls, statistics.host_calls,
                    statistics.border_calls};
}

Expected<RunSummary> run_tosa(const RunOptions& options, const OpenFile& file) {
  const LoadedTosa loaded = TRY(load_tosa(file, options.program));
  const std::vector<Tensor> inputs = TRY(inputs_of(options, loaded.interpreter));
  const auto tensors = TRY(within(loaded.interpreter.run(inputs), options.file));
  const std::vector<std::optional<Tensor>> outputs(tensors.begin(), tensors.end());
  return RunSummary{TRY(write_outputs(options.folder, outputs)), 0, loaded.operators, 0};
}

Expected<void> run_file(const RunOptions& options) {
  const OpenFile file = TRY(open_file(options.file));
  const RunSummary summary = TRY(file.kind == FileKind::kProgram ? run_program(options, file)
                                 : file.kind == FileKind::kTosa  ? run_tosa(options, file)
                                                                 : run_model(options, file));
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary));
  return {};
}

}  // namespace

Command add_run(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("run", "Runs a model in float, a program or a TOSA graph, and writes the outputs as .npy.");
  const auto options = std::make_shared<RunOptions>();
  command
      ->add_option("FILE", options->file,
                   "a torch.export archive (.pt2), a program file (.pte) or a TOSA graph (.tosa)")
      ->required();
  command
      ->add_option("--input", options->inputs,
                   "a .npy file for each input, in order; without any, the examples of a .pt2 file")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->folder, "the folder for output_0.npy, output_1.npy, ...")->required();
  add_program_options(*command, options->program);
  command->add_flag("--json", options->wants_json, "one JSON object on standard output");
  command->footer(
      "Examples:\n  isthmus run model.pt2 -o out\n  isthmus run model.pt2 --input image.npy -o out\n"
      "  isthmus run model.pte --input image.npy -o out --threads 2");
  return {command, [options] { return fine(run_file(*options)); }};
}

}  // namespace isthmus
