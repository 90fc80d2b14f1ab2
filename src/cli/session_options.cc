// Options become a session that reports its progress on the terminal.
#include "cli/session_options.h"

#include <memory>
#include <utility>

#include "base/block.h"
#include "cli/common_flags.h"
#include "cli/media_options.h"
#include "cli/progress.h"
#include "targets/registry.h"

namespace isthmus {

void add_session_options(CLI::App& command, SessionFlags& flags) {
  add_model_options(command, flags.model);
  add_quant_options(command, flags.quant);
  command.add_flag("--float", flags.is_float, "do not quantize: compile the model in float");
}

void add_sample_options(CLI::App& command, DataOptions& data) {
  command.add_option("--samples", data.max_samples, "use at most this many samples")->check(at_least(1));
  command
      .add_option(
          "--sequence", data.sequence,
          "for models with state: reset the state after this many samples; default: all samples are one sequence")
      ->check(at_least(1));
}

void add_calibration_options(CLI::App& command, SessionFlags& flags, const std::string& without) {
  command.add_option("--calibrate", flags.data.path,
                     std::string(kSampleSources) + "; or a .stats file of `isthmus calibrate`; default: " + without);
  add_hidden_alias(command, "--data", flags.data.path);
  add_sample_options(command, flags.data);
  add_media_options(command, flags.data.media);
  command.add_flag("--reproducible", flags.data.is_reproducible,
                   "calibrate with kernels that give the same bits, and so the same file, on every CPU; slower than "
                   "XNNPACK's kernels");
  command.add_option("--threads", flags.threads, "samples to run in parallel; default: the number of CPUs")
      ->check(CLI::Range(1, 1024));
}

void add_program_file_options(CLI::App& command, SessionFlags& flags) {
  command
      .add_option("--input-layout", flags.input_layouts,
                  "nhwc: image inputs are channels-last in memory and need no transpose; NAME=nhwc for one input")
      ->allow_extra_args(false);
  for (const FinishingStep* step : all_finishing_steps()) {
    for (const FinishOption& option : step->options) {
      const std::string name(option.name);
      command.add_option(name, flags.finish[name], std::string(option.help));
    }
  }
}

void add_session_limits(CLI::App& command, SessionFlags& flags) {
  add_limit_options(command, flags.limits, "for the whole command");
}

Expected<SessionOptions> session_options(const SessionFlags& flags) {
  SessionOptions options;
  options.prepare = TRY(prepare_options(flags.model));
  options.config = TRY(config_of(flags.quant));
  options.is_float = flags.is_float;
  options.data = flags.data;
  options.threads = flags.threads;
  options.input_layouts = flags.input_layouts;
  options.finish = flags.finish;
  return options;
}

Expected<Session> open_session(const SessionFlags& flags) {
  if (flags.limits.max_memory != 0 || flags.limits.timeout != 0) start_limits(flags.limits);
  if (flags.limits.max_memory == 0) allow_spilling(kResidentBytes);
  auto model = std::make_shared<OpenModel>(TRY(open_model(flags.model.file, TRY(input_request(flags.model)))));
  const auto watch = std::make_shared<TerminalProgress>();
  return Session::create(std::move(model), TRY(session_options(flags)),
                         [watch](Stage stage, double fraction) { return watch->show(stage, fraction); });
}

}  // namespace isthmus
