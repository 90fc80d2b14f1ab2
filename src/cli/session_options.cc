// Options become a session that reports its progress on the terminal.
#include "cli/session_options.h"

#include <memory>
#include <utility>

#include "cli/common_flags.h"
#include "cli/media_options.h"
#include "cli/progress.h"

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

Expected<Session> open_session(const SessionFlags& flags) {
  auto model = std::make_shared<OpenModel>(TRY(open_model(flags.model.file, TRY(input_request(flags.model)))));
  SessionOptions options;
  options.prepare = TRY(prepare_options(flags.model));
  options.config = TRY(config_of(flags.quant));
  options.is_float = flags.is_float;
  options.data = flags.data;
  options.threads = flags.threads;
  options.input_layouts = flags.input_layouts;
  options.finish = flags.finish;
  const auto watch = std::make_shared<TerminalProgress>();
  return Session::create(std::move(model), std::move(options),
                         [watch](Stage stage, double fraction) { return watch->show(stage, fraction); });
}

}  // namespace isthmus
