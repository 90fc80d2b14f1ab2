// isthmus verify
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/limits.h"
#include "cli/media_options.h"
#include "cli/model_options.h"
#include "cli/program_options.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "report/verify.h"

namespace isthmus {
namespace {

struct VerifyOptions {
  std::string file;
  ModelOptions reference;
  VerifyProgramOptions program;
  std::optional<double> min_sqnr;
  LimitOptions limits;
  CommonFlags common;
};

// What is not as it should be, a line each.
std::vector<std::string> faults_of(const VerifySummary& summary, const std::optional<double>& min_sqnr) {
  std::vector<std::string> faults;
  const auto& found = summary.verified.found;
  if (found.departure) faults.push_back(verdict_of(summary));
  for (std::size_t i = 0; min_sqnr && i < found.outputs.size(); ++i) {
    if (found.outputs[i] >= *min_sqnr) continue;
    faults.push_back(fmt::format("{}: output_{} has {}, and --min-sqnr asks for {:g}", summary.file, i,
                                 db_text(found.outputs[i]), *min_sqnr));
  }
  return faults;
}

Expected<ExitCode> verify_file(VerifyOptions options) {
  options.program.program.max_bytes = start_limits(options.limits);
  const OpenFile file = TRY(open_file(options.file));
  std::optional<OpenModel> reference;
  Diagnostics diagnostics;
  const auto constants = TRY(read_constants(options.reference.constants));
  const auto open_reference = [&](const SizesOfInputs& sizes) -> Expected<const OpenModel*> {
    reference = TRY(open_model(options.reference.file, {.constants = constants, .sizes = sizes}));
    for (const Diagnostic& entry : reference->diagnostics.entries()) diagnostics.add(entry);
    return &*reference;
  };
  options.program.prepare = TRY(prepare_options(options.reference));
  ProgressBar bar("comparing");
  auto verified = verify_program(file, open_reference, options.program, diagnostics, [&](double fraction) {
    restart_timeout();
    bar.show(fraction);
  });
  bar.clear();
  const VerifySummary summary{options.file, options.reference.file, TRY(std::move(verified)), diagnostics.entries()};
  if (options.common.speaks()) print_diagnostics(diagnostics);
  if (options.common.wants_json) {
    print_output(to_json(summary));
  } else if (options.common.speaks()) {
    print_output(to_text(summary, {.has_colour = stdout_has_colour()}, options.common.is_verbose));
  }
  const std::vector<std::string> faults = faults_of(summary, options.min_sqnr);
  for (const std::string& fault : faults) print_error(Error(ErrorKind::kBadInput, fault));
  return faults.empty() ? kExitFine : kExitGate;
}

}  // namespace

Command add_verify(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "verify", "Finds the first node at which a program departs from its model, and shows what each node loses.");
  const auto options = std::make_shared<VerifyOptions>();
  options->reference.target = "xnnpack";
  command->add_option("FILE", options->file, "a program file (.pte), of ExecuTorch's too, or a TOSA graph (.tosa)")
      ->required();
  command->add_option("--reference", options->reference.file, "the float model that it was made from (.pt2, .onnx)")
      ->required();
  add_constant_option(*command, options->reference.constants);
  command->add_option("--data", options->program.data.path,
                      std::string(kSampleSources) + "; without it, the examples of the model");
  add_sample_options(*command, options->program.data);
  add_media_options(*command, options->program.data.media);
  command->add_option("--min-sqnr", options->min_sqnr, "what every output must have, in dB");
  command->add_option(
      "--device-outputs", options->program.device_outputs,
      "a folder of tensors that a device left of the first sample, instead of what is computed here: "
      ".npy files named after values (output_0.npy, delegate_0_value_12.npy) or debug handles (17.npy)");
  command->add_option("--input-scale", options->program.input_scale,
                      "the scale of the inputs of a TOSA graph, which names none; without it, the range of the data "
                      "decides");
  add_program_options(*command, options->program.program);
  add_limit_options(*command, options->limits);
  add_common_flags(*command, options->common, "every value");
  command->footer(
      "Exit code 3: a node departs, or an output has less than --min-sqnr asks for; one line says which.\n\n"
      "Examples:\n  isthmus verify model.pte --reference model.pt2 --data test.npz\n"
      "  isthmus verify model.pte --reference model.pt2 --data test.npz --device-outputs dumped/");
  return {command, [options] { return verify_file(*options); }};
}

}  // namespace isthmus
