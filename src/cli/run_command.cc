// isthmus run
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "canonicalize/canonicalize.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/terminal.h"
#include "exec/half.h"
#include "exec/interpreter.h"
#include "formats/npy.h"
#include "report/run.h"

namespace isthmus {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> inputs;
  std::string folder;
  bool wants_json = false;
};

Expected<std::vector<Tensor>> inputs_of(const Options& options, const Model& model) {
  std::vector<Tensor> tensors;
  if (options.inputs.empty()) {
    for (std::size_t i = 0; i < model.examples.size(); ++i) {
      if (!model.examples[i]) {
        return bad_input(
            fmt::format("{} has no example for its input {}: give every input with --input", options.file, i));
      }
      tensors.push_back(Tensor::from(*model.examples[i]));
    }
    return tensors;
  }
  for (const std::string& path : options.inputs) {
    tensors.push_back(Tensor::from(TRY(within(read_npy(TRY(map_file(path))), path))));
  }
  return tensors;
}

Expected<void> write_output(const std::string& path, const Tensor& tensor) {
  const std::vector<std::byte> bytes = TRY(write_npy(tensor.view()));
  return write_file(path, bytes);
}

Expected<void> run(const Options& options) {
  Diagnostics diagnostics;
  const OpenModel opened = TRY(open_model(options.file, diagnostics));
  const Graph graph = TRY(within(canonicalize(opened.model.graph, diagnostics), options.file));
  const std::vector<Tensor> inputs = TRY(inputs_of(options, opened.model));
  const auto outputs = TRY(within(interpret(graph, inputs), options.file));
  RunSummary summary{{}, 0, graph.nodes().size()};
  std::error_code problem;
  std::filesystem::create_directories(options.folder, problem);
  if (problem) {
    return fail(ErrorKind::kEnvironment, fmt::format("cannot create {}: {}", options.folder, problem.message()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) continue;
    // NumPy has no bfloat16: such an output is written as f32, which holds the same numbers.
    const Tensor written = outputs[i]->dtype() == DType::kBF16 ? widened(*outputs[i]) : *outputs[i];
    const std::string name = fmt::format("output_{}", i);
    const std::string path = (std::filesystem::path(options.folder) / (name + ".npy")).string();
    TRY(within(write_output(path, written), name));
    summary.outputs.push_back({name, std::string(name_of(written.dtype())), written.sizes(), path});
  }
  if (!options.wants_json) print_diagnostics(diagnostics);
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary));
  return {};
}

}  // namespace

Command add_run(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Computes a model in float and writes its outputs as .npy files.");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "a torch.export archive (.pt2)")->required();
  command
      ->add_option("--input", options->inputs,
                   "a .npy file for each input, in order; without any, the archive's examples")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options->folder, "the folder for output_0.npy, output_1.npy, ...")->required();
  command->add_flag("--json", options->wants_json, "one JSON object on standard output");
  command->footer("Examples:\n  isthmus run model.pt2 -o out\n  isthmus run model.pt2 --input image.npy -o out");
  return {command, [options] { return run(*options); }};
}

}  // namespace isthmus
