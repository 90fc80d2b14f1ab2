// isthmus sweep
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/counts.h"
#include "base/output_file.h"
#include "base/process.h"
#include "base/untrusted_text.h"
#include "cli/commands.h"
#include "cli/report_option.h"
#include "cli/sweep/point.h"
#include "cli/terminal.h"
#include "cli/usage.h"

namespace isthmus {
namespace {

struct SweepOptions {
  std::string plan;
  std::string point;  // this one alone
  std::size_t jobs = 1;
  double seconds = 1;
  bool prints_jobs = false;
  std::string csv;
  std::string report;
  CommonFlags common;
};

Expected<SweepPlan> open_plan(const SweepOptions& options) {
  SweepPlan plan = TRY(read_plan(TRY(map_file(options.plan)).text(), options.plan));
  if (options.point.empty()) return plan;
  std::vector<std::string_view> names;
  for (const SweepPoint& point : plan.points) names.push_back(point.name);
  const auto found = std::ranges::find(plan.points, options.point, &SweepPoint::name);
  if (found == plan.points.end()) {
    return bad_input(
        fmt::format("{} has no point {}{}", options.plan, shown(options.point), did_you_mean(options.point, names)));
  }
  plan.points = {SweepPoint(*found)};
  return plan;
}

// Each thread takes the next point as long as there are some.
std::vector<SweepRow> run_points(const SweepPlan& plan, SweepRun& run, std::size_t jobs) {
  std::vector<SweepRow> rows(plan.points.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  ProgressBar bar(counted(rows.size(), "point"));
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size(); i = next++) {
      rows[i] = run.row_of(plan.points[i]);
      const std::lock_guard lock(mutex);
      bar.show(static_cast<double>(++done) / static_cast<double>(rows.size()));
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(jobs, rows.size()); ++i) others.emplace_back(work);
    work();
  }
  return rows;
}

Expected<ExitCode> sweep(const SweepOptions& options) {
  const std::vector<std::string> inputs{options.plan};
  for (const std::string& written : {options.csv, options.report}) TRY(demand_writable(written, inputs));
  const SweepPlan plan = TRY(open_plan(options));
  SweepRun run(plan, std::max<std::size_t>(1, default_threads() / options.jobs), options.seconds);
  if (options.prints_jobs) {
    const std::string seconds =
        options.seconds == SweepOptions().seconds ? "" : fmt::format(" --seconds {}", options.seconds);
    for (const SweepPoint& point : plan.points) {
      if (run.is_done(point)) continue;
      print_output(fmt::format("isthmus sweep {} --point {}{}\n", shell_word(options.plan), point.name, seconds));
    }
    return kExitFine;
  }
  std::error_code error;
  std::filesystem::create_directories(plan.folder, error);
  if (error) return fail(ErrorKind::kEnvironment, fmt::format("{}: {}", plan.folder, error.message()));
  SweepSummary summary{options.plan, plan.folder, run_points(plan, run, options.jobs)};
  mark_front(summary.rows);
  if (!options.csv.empty()) {
    const std::string csv = to_csv(summary);
    TRY(write_file(options.csv, std::as_bytes(std::span(csv))));
  }
  TRY(write_report(options.report, summary));
  if (options.common.wants_json) print_output(to_json(summary));
  if (options.common.speaks()) print_output(to_text(summary, {.has_colour = stdout_has_colour()}));
  if (options.point.empty() || summary.failed() == 0) return kExitFine;  // in the table of many it is a row
  if (options.common.is_quiet && !options.common.wants_json) print_error(summary.rows[0].figures.error());
  return kExitFailed;
}

}  // namespace

Command add_sweep(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "sweep", "Compiles and evaluates models x targets x configurations, and reports the Pareto front.");
  const auto options = std::make_shared<SweepOptions>();
  command->add_option("PLAN", options->plan, "a .toml of models, targets and configurations")->required();
  command->add_option("--jobs", options->jobs, "points at the same time, which share the CPUs")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "how long to measure the time of a run, alone on the machine")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  CLI::Option* jobs = command->add_flag("--print-jobs", options->prints_jobs,
                                        "print a command for each unfinished point, and run nothing");
  command->add_option("--point", options->point, "do this one alone: what --print-jobs prints")->excludes(jobs);
  command->add_option("--csv", options->csv, "write the table as comma-separated values")->excludes(jobs);
  add_report_option(*command, options->report, "write the table and its plots as one HTML page")->excludes(jobs);
  add_common_flags(*command, options->common);
  command->footer(
      "Finished points are not run again if model, data, options and version are the same.\n\n"
      "Examples:\n  isthmus sweep plan.toml --jobs 2\n  isthmus sweep plan.toml --csv table.csv --report table.html\n"
      "  isthmus sweep plan.toml --print-jobs > jobs.txt");
  return {command, [options] { return sweep(*options); }};
}

}  // namespace isthmus
