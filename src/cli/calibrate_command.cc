// isthmus calibrate, isthmus merge
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "session/data.h"
#include "cli/commands.h"
#include "cli/model_options.h"
#include "session/open_model.h"
#include "cli/terminal.h"
#include "report/stats.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

struct CalibrateOptions {
  ModelOptions model;
  DataOptions samples;
  std::string output;
  std::size_t threads = default_threads();
  bool wants_json = false;
  bool is_quiet = false;
};

Expected<void> calibrate_model(const CalibrateOptions& options) {
  Diagnostics diagnostics;
  OpenModel opened = TRY(open_model(options.model.file, diagnostics));
  const PrepareOptions wanted = TRY(prepare_options(options.model));
  const Prepared prepared = TRY(within(prepare(opened.model.graph, wanted, diagnostics), options.model.file));
  opened.model.examples = fitting_examples(prepared.graph, std::move(opened.model.examples));
  const xnnpack::ThreadPool threads(options.threads);
  const auto start = std::chrono::steady_clock::now();
  const Statistics statistics =
      TRY(gather_statistics(options.samples, options.model.file, opened.model, prepared, threads, diagnostics));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  TRY(write_file(options.output, write_stats(statistics)));
  if (!options.wants_json && !options.is_quiet) print_diagnostics(diagnostics);
  const CalibrateSummary summary{options.model.file, options.model.target, options.output,
                                 elapsed.count(),    &statistics,          diagnostics.entries()};
  if (options.wants_json || !options.is_quiet)
    fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary));
  return {};
}

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
};

Expected<void> merge(const MergeOptions& options) {
  Statistics merged = TRY(within(read_stats(TRY(map_file(options.files[0]))), options.files[0]));
  for (std::size_t i = 1; i < options.files.size(); ++i) {
    const Statistics next = TRY(within(read_stats(TRY(map_file(options.files[i]))), options.files[i]));
    TRY(within(merged.merge(next), fmt::format("{} and {}", options.files[0], options.files[i])));
  }
  TRY(write_file(options.output, write_stats(merged)));
  fmt::print("{}: {} values, {} samples\n", options.output, merged.values.size(), merged.samples);
  return {};
}

}  // namespace

Command add_calibrate(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("calibrate", "Runs samples through a model and keeps the statistics of its values.");
  const auto options = std::make_shared<CalibrateOptions>();
  add_model_options(*command, options->model);
  command->add_option("--data", options->samples.data,
                      "an .npz with one array per input (its first axis counts samples), or a folder of .npy and .npz "
                      "files, one sample each; without it, the archive's examples");
  command->add_option("-o,--output", options->output, "the file of statistics (.stats)")->required();
  command->add_option("--samples", options->samples.most, "at most so many samples")->check(CLI::PositiveNumber);
  add_sequence(*command, options->samples);
  add_reproducible(*command, options->samples);
  command
      ->add_option("--threads", options->threads,
                   "samples at the same time; as many as there are CPUs for this process by default")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--json", options->wants_json, "one JSON object on standard output");
  command->add_flag("-q,--quiet", options->is_quiet, "say nothing but errors");
  command->footer(
      "Examples:\n  isthmus calibrate model.pt2 --target xnnpack --data calib.npz -o model.stats\n"
      "  isthmus calibrate model.pt2 --target xnnpack --data samples/ --samples 64 -o model.stats");
  return {command, [options] { return fine(calibrate_model(*options)); }};
}

Command add_merge(CLI::App& app) {
  CLI::App* command = app.add_subcommand("merge", "Merges statistics of one model that were made from several data.");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("FILES", options->files, "files of `isthmus calibrate`")->required()->expected(2, -1);
  command->add_option("-o,--output", options->output, "the file of all of them")->required();
  command->footer("Example:\n  isthmus merge a.stats b.stats -o all.stats");
  return {command, [options] { return fine(merge(*options)); }};
}

}  // namespace isthmus
