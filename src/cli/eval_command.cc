// isthmus eval
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/limits.h"
#include "cli/media_options.h"
#include "cli/model_options.h"
#include "cli/program_options.h"
#include "cli/report_option.h"
#include "cli/session_options.h"
#include "cli/shard_options.h"
#include "cli/terminal.h"
#include "evaluate/evaluation_file.h"
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
  std::string output;
  ShardOptions shard;
  std::vector<std::string> words;  // of the command line
  CommonFlags common;
};

// What an earlier run has left, where it is just what this one would make.
Expected<std::optional<Evaluation>> done_before(const EvalOptions& options, const OpenFile& file,
                                                const ReferenceOpener& reference, const EvaluateOptions& wanted) {
  if (!options.shard.resumes || !std::filesystem::exists(options.output)) return std::nullopt;
  const auto bytes = map_file(options.output);
  if (!bytes) return std::nullopt;
  auto known = read_evaluation(*bytes);
  if (!known || !is_same_part(known->evaluation.part, TRY(evaluation_manifest(file, reference, wanted)))) {
    return std::nullopt;
  }
  return std::move(known->evaluation);
}

// The names of files, and what goes with them.
Expected<ExitCode> take_shard(EvalOptions& options) {
  const auto shard = TRY(choose_shard(options.shard));
  if (!shard) {
    if (!options.shard.resumes) return kExitFine;
    return usage_error("--resume needs --shard", options.common);
  }
  if (options.output.empty()) {
    return usage_error(fmt::format("shard {} of the samples needs an output file: -o FILE.eval", text_of(shard->shard)),
                       options.common);
  }
  if (!options.report.empty()) {
    return usage_error("--report needs all samples: join the shards with `isthmus merge`", options.common);
  }
  options.output = shard_file(options.output, shard->shard);
  options.data.shard = shard->shard;
  options.program.threads = threads_of_shard(options.program.threads);
  if (!options.common.is_quiet) print_shard(*shard, options.output);
  return kExitFine;
}

Expected<ExitCode> evaluate_file(EvalOptions options) {
  if (const ExitCode code = TRY(take_shard(options)); code != kExitFine) return code;
  const std::vector<std::string> inputs{options.file, options.reference.file, options.data.path};
  for (const std::string& written : {options.report, options.output}) {
    if (!written.empty()) TRY(demand_writable(written, inputs));
  }
  options.program.max_bytes = start_limits(options.limits);
  const OpenFile file = TRY(open_file(options.file));
  std::optional<OpenModel> reference;
  Diagnostics diagnostics;
  const auto constants = TRY(read_constants(options.reference.constants));
  const auto open_reference = [&](const SizesOfInputs& sizes) -> Expected<const OpenModel*> {
    if (reference) return &*reference;
    reference = TRY(open_model(options.reference.file, {.constants = constants, .sizes = sizes}));
    for (const Diagnostic& entry : reference->diagnostics.entries()) diagnostics.add(entry);
    return &*reference;
  };
  const EvaluateOptions wanted{TRY(prepare_options(options.reference)), options.data, options.program};
  auto known = TRY(done_before(options, file, open_reference, wanted));
  const bool was_done = known.has_value();
  if (!was_done) {
    ProgressBar bar("evaluating");
    auto result = evaluate_program(file, open_reference, wanted, diagnostics, [&](double fraction) {
      restart_timeout();
      bar.show(fraction);
      return true;
    });
    bar.clear();
    known = TRY(std::move(result));
    if (known->part) known->part->command = options.words;
    if (!options.output.empty()) TRY(write_file(options.output, write_evaluation({options.file, *known})));
  }
  EvalSummary summary{.file = options.file,
                      .evaluation = *std::move(known),
                      .said = diagnostics.entries(),
                      .program = {},
                      .output = options.output,
                      .was_done = was_done};
  if (!options.report.empty()) summary.program = TRY(take_apart_program(file.path, file.bytes, {}));
  TRY(write_report(options.report, summary));
  if (options.common.speaks()) print_diagnostics(diagnostics);
  if (!options.common.is_quiet || options.common.wants_json) {
    print_output(options.common.wants_json ? to_json(summary) : to_text(summary));
  }
  return kExitFine;
}

}  // namespace

Command add_eval(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "eval", "Measures the accuracy of a program, its agreement with the float model, and its SQNR.");
  const auto options = std::make_shared<EvalOptions>();
  options->reference.target = "xnnpack";
  options->program.threads = default_threads();
  command->add_option("FILE", options->file, "a program file (.pte)")->required();
  command
      ->add_option("--reference", options->reference.file, "the float model from which it was compiled (.pt2, .onnx)")
      ->required();
  add_constant_option(*command, options->reference.constants);
  command->add_option("--data", options->data.path,
                      std::string(kSampleSources) +
                          "; default: the example inputs of the model. Classes come from the array `labels` of an "
                          ".npz, or from the names of subfolders of images");
  command->add_option("--labels", options->data.labels_file,
                      "a text file with one class per line, in the order of the samples, or with lines FILE,CLASS");
  add_sample_options(*command, options->data);
  add_media_options(*command, options->data.media);
  add_program_options(*command, options->program);
  add_limit_options(*command, options->limits);
  command->get_option("--threads")->description("samples to run in parallel; default: the number of CPUs");
  add_report_option(*command, options->report);
  command->add_option("-o,--output", options->output, "the evaluation file to write (.eval), for `isthmus merge`");
  add_shard_options(*command, options->shard);
  add_common_flags(*command, options->common);
  command->footer(
      "Examples:\n  isthmus eval model.pte --reference model.pt2 --data test.npz\n"
      "  isthmus eval model.pte --reference model.pt2 --data test.npz --report report.html\n"
      "  isthmus eval model.pte --reference model.pt2 --data val/ --resize 256 --crop 224 --mean 0.485,0.456,0.406 "
      "--std 0.229,0.224,0.225\n"
      "  isthmus eval model.pte --reference model.pt2 --data test.npz --shard 0/8 -o model.eval");
  return {command, [options, command] {
            options->words = command_words(*command);
            return evaluate_file(*options);
          }};
}

}  // namespace isthmus
