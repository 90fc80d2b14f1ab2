// isthmus eval
#include <memory>
#include <optional>
#include <vector>

#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/limits.h"
#include "cli/media_options.h"
#include "cli/model_options.h"
#include "cli/program_options.h"
#include "cli/report_option.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "report/eval.h"
#include "report/program.h"
#include "session/evaluate_program.h"

namespace isthmus {
namespace {

struct EvalOptions {
  std::string file;
  ModelOptions reference;
  DataOptions data;
  ProgramOptions program;
  LimitOptions limits;
  std::string report;
  CommonFlags common;
};

Expected<void> evaluate_file(EvalOptions options) {
  const std::vector<std::string> inputs{options.file, options.reference.file, options.data.path};
  if (!options.report.empty()) TRY(demand_writable(options.report, inputs));
  options.program.max_bytes = start_limits(options.limits);
  const OpenFile file = TRY(open_file(options.file));
  std::optional<OpenModel> reference;
  Diagnostics diagnostics;
  const auto constants = TRY(read_constants(options.reference.constants));
  const auto open_reference = [&](const SizesOfInputs& sizes) -> Expected<const OpenModel*> {
    reference = TRY(open_model(options.reference.file, {.constants = constants, .sizes = sizes}));
    for (const Diagnostic& entry : reference->diagnostics.entries()) diagnostics.add(entry);
    return &*reference;
  };
  ProgressBar bar("evaluating");
  const EvaluateOptions wanted{TRY(prepare_options(options.reference)), options.data, options.program};
  auto result = evaluate_program(file, open_reference, wanted, diagnostics, [&](double fraction) {
    restart_timeout();
    bar.show(fraction);
    return true;
  });
  bar.clear();
  EvalSummary summary{options.file, TRY(std::move(result)), diagnostics.entries()};
  if (!options.report.empty()) summary.program = TRY(take_apart_program(file.path, file.bytes, {}));
  TRY(write_report(options.report, summary));
  if (options.common.speaks()) print_diagnostics(diagnostics);
  if (!options.common.is_quiet || options.common.wants_json) {
    print_output(options.common.wants_json ? to_json(summary) : to_text(summary));
  }
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
  command->add_option("--reference", options->reference.file, "the float model that it was compiled from (.pt2, .onnx)")
      ->required();
  add_constant_option(*command, options->reference.constants);
  command->add_option("--data", options->data.path,
                      std::string(kSampleSources) +
                          "; without it, the examples of the model. Classes are the array `labels` of an .npz, or the "
                          "names of folders below the one of images");
  command->add_option("--labels", options->data.labels_file,
                      "a text file with the class of each sample on a line, or lines of a file's name and its class");
  add_sample_options(*command, options->data);
  add_media_options(*command, options->data.media);
  add_program_options(*command, options->program);
  add_limit_options(*command, options->limits);
  command->get_option("--threads")
      ->description("samples at the same time; as many as there are CPUs for this process by default");
  add_report_option(*command, options->report);
  add_common_flags(*command, options->common);
  command->footer(
      "Examples:\n  isthmus eval model.pte --reference model.pt2 --data test.npz\n"
      "  isthmus eval model.pte --reference model.pt2 --data test.npz --report report.html\n"
      "  isthmus eval model.pte --reference model.pt2 --data val/ --resize 256 --crop 224 --mean 0.485,0.456,0.406 "
      "--std 0.229,0.224,0.225");
  return {command, [options] { return fine(evaluate_file(*options)); }};
}

}  // namespace isthmus
