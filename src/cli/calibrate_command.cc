// isthmus calibrate
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/session_options.h"
#include "cli/shard_options.h"
#include "cli/terminal.h"
#include "report/stats.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

struct CalibrateOptions {
  SessionFlags session;
  std::string output;
  ShardOptions shard;
  std::vector<std::string> words;  // of the command line
  CommonFlags common;
};

// What an earlier run has left, where it is just what this one would make.
Expected<std::optional<Statistics>> done_before(const CalibrateOptions& options, Session& session) {
  if (!options.shard.resumes || !std::filesystem::exists(options.output)) return std::nullopt;
  const auto file = map_file(options.output);
  if (!file) return std::nullopt;
  auto statistics = read_stats(*file);
  if (!statistics || !is_same_part(statistics->part, TRY(session.shard_manifest()))) return std::nullopt;
  return *std::move(statistics);
}

Expected<ExitCode> calibrate_model(CalibrateOptions options) {
  const auto shard = TRY(choose_shard(options.shard));
  if (shard) {
    options.output = shard_file(options.output, shard->shard);
    options.session.data.shard = shard->shard;
    options.session.threads = threads_of_shard(options.session.threads);
    if (!options.common.is_quiet) print_shard(*shard, options.output);
  } else if (options.shard.resumes) {
    return usage_error("--resume needs --shard", options.common);
  }
  const std::vector<std::string> inputs{options.session.model.file, options.session.data.path};
  TRY(demand_writable(options.output, inputs));
  Session session = TRY(open_session(options.session));
  auto known = TRY(done_before(options, session));
  const bool was_done = known.has_value();
  Statistics statistics = was_done ? *std::move(known) : TRY(session.calibrate());
  if (!was_done) {
    if (statistics.part) statistics.part->command = options.words;
    TRY(write_file(options.output, write_stats(statistics)));
  }
  if (options.common.speaks()) print_diagnostics(session.diagnostics());
  const CalibrateSummary summary{.model = session.file(),
                                 .target = std::string(session.target().name),
                                 .output = options.output,
                                 .seconds = was_done ? 0 : session.times().back().seconds,
                                 .statistics = &statistics,
                                 .diagnostics = session.diagnostics().entries(),
                                 .was_done = was_done};
  if (options.common.wants_json || !options.common.is_quiet) {
    print_output(options.common.wants_json ? to_json(summary) : to_text(summary));
  }
  return kExitFine;
}

}  // namespace

Command add_calibrate(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Runs samples through a model and saves the statistics of its values.");
  const auto options = std::make_shared<CalibrateOptions>();
  add_model_options(*command, options->session.model);
  add_session_limits(*command, options->session);
  add_calibration_options(*command, options->session, "the example inputs of the model");
  command->add_option("-o,--output", options->output, "the statistics file to write (.stats)")->required();
  add_shard_options(*command, options->shard);
  add_common_flags(*command, options->common);
  command->footer(
      "Examples:\n  isthmus calibrate model.pt2 --target xnnpack --calibrate calib.npz -o model.stats\n"
      "  isthmus calibrate model.pt2 --target xnnpack --calibrate samples/ --samples 64 -o model.stats\n"
      "  mpirun -n 8 isthmus calibrate model.pt2 --target xnnpack --calibrate calib.npz -o model.stats");
  return {command, [options, command] {
            options->words = command_words(*command);
            return calibrate_model(*options);
          }};
}

}  // namespace isthmus
