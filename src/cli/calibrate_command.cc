// isthmus calibrate, isthmus merge
#include <fmt/format.h>

#include <memory>

#include "base/bytes.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "report/stats.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

struct CalibrateOptions {
  SessionFlags session;
  std::string output;
  CommonFlags common;
};

Expected<void> calibrate_model(const CalibrateOptions& options) {
  const std::vector<std::string> inputs{options.session.model.file, options.session.data.path};
  TRY(demand_writable(options.output, inputs));
  Session session = TRY(open_session(options.session));
  const Statistics statistics = TRY(session.calibrate());
  TRY(write_file(options.output, write_stats(statistics)));
  if (options.common.speaks()) print_diagnostics(session.diagnostics());
  const CalibrateSummary summary{session.file(), std::string(session.target().name),
                                 options.output, session.times().back().seconds,
                                 &statistics,    session.diagnostics().entries()};
  if (options.common.wants_json || !options.common.is_quiet) {
    print_output(options.common.wants_json ? to_json(summary) : to_text(summary));
  }
  return {};
}

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
  CommonFlags common;
};

Expected<void> merge(const MergeOptions& options) {
  TRY(demand_writable(options.output, options.files));
  Statistics merged = TRY(within(read_stats(TRY(map_file(options.files[0]))), options.files[0]));
  for (std::size_t i = 1; i < options.files.size(); ++i) {
    const Statistics next = TRY(within(read_stats(TRY(map_file(options.files[i]))), options.files[i]));
    TRY(within(merged.merge(next), fmt::format("{} and {}", options.files[0], options.files[i])));
  }
  TRY(write_file(options.output, write_stats(merged)));
  const StatsSummary summary{options.output, &merged};
  if (options.common.wants_json) print_output(to_json(summary));
  if (options.common.speaks()) {
    print_output(fmt::format("{}: {} values, {} samples\n", options.output, merged.values.size(), merged.samples));
  }
  return {};
}

}  // namespace

Command add_calibrate(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Runs samples through a model and keeps the statistics of its values.");
  const auto options = std::make_shared<CalibrateOptions>();
  add_model_options(*command, options->session.model);
  add_calibration_options(*command, options->session, "the archive's examples");
  command->add_option("-o,--output", options->output, "the file of statistics (.stats)")->required();
  add_common_flags(*command, options->common);
  command->footer(
      "Examples:\n  isthmus calibrate model.pt2 --target xnnpack --calibrate calib.npz -o model.stats\n"
      "  isthmus calibrate model.pt2 --target xnnpack --calibrate samples/ --samples 64 -o model.stats");
  return {command, [options] { return fine(calibrate_model(*options)); }};
}

Command add_merge(CLI::App& app) {
  CLI::App* command = app.add_subcommand("merge", "Merges statistics of one model that were made from several data.");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("FILES", options->files, "files of `isthmus calibrate`")->required()->expected(2, -1);
  command->add_option("-o,--output", options->output, "the file of all of them")->required();
  add_common_flags(*command, options->common);
  command->footer("Example:\n  isthmus merge a.stats b.stats -o all.stats");
  return {command, [options] { return fine(merge(*options)); }};
}

}  // namespace isthmus
