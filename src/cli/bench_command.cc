// isthmus bench
#include <fmt/format.h>

#include <memory>

#include "cli/arrays.h"
#include "cli/commands.h"
#include "cli/limits.h"
#include "cli/program_options.h"
#include "cli/stopwatch.h"
#include "cli/terminal.h"
#include "program/run/measure.h"
#include "report/bench.h"
#include "session/open_model.h"

namespace isthmus {
namespace {

struct BenchOptions {
  std::string file;
  std::vector<std::string> inputs;
  double seconds = 2;
  ProgramOptions program;
  LimitOptions limits;
  CommonFlags common;
};

Expected<BenchSummary> bench_program(const BenchOptions& options, const run::MeasureOptions& measure_options) {
  const Stopwatch watch;
  LoadedProgram program = TRY(load_program(TRY(open_file(options.file)), options.program));
  const double load_seconds = watch.seconds();
  const std::vector<Tensor> inputs =
      TRY(options.inputs.empty() ? within(run::plain_inputs(program.method, program.max_bytes), options.file)
                                 : read_arrays(options.inputs));
  const auto measured = TRY(within(run::measure(program.method, inputs, measure_options), options.file));
  return BenchSummary{options.file, program.threads, load_seconds, measured};
}

Expected<BenchSummary> bench_tosa(const BenchOptions& options, const run::MeasureOptions& measure_options) {
  const Stopwatch watch;
  const LoadedTosa loaded = TRY(load_tosa(TRY(open_file(options.file)), options.program));
  const double load_seconds = watch.seconds();
  std::vector<Tensor> inputs = TRY(read_arrays(options.inputs));
  if (inputs.empty()) {
    for (const run::TensorInfo& input : loaded.graph.inputs()) inputs.emplace_back(input.dtype, input.sizes);
  }
  const auto call = [&]() -> Expected<void> {
    TRY(loaded.graph.run(inputs));
    return {};
  };
  const auto measured = TRY(within(run::measure(call, measure_options), options.file));
  return BenchSummary{options.file, loaded.threads, load_seconds, measured, false};
}

Expected<void> bench(BenchOptions options) {
  options.program.max_bytes = start_limits(options.limits);
  const bool is_tosa = TRY(open_file(options.file)).kind == FileKind::kTosa;
  if (is_tosa && options.program.with_profile) {
    return bad_input(fmt::format("{}: --profile is for program files (.pte)", options.file));
  }
  ProgressBar bar("measuring");
  const run::MeasureOptions measure_options{options.seconds, [&bar](double fraction) {
                                              restart_timeout();
                                              bar.show(fraction);
                                            }};
  const BenchSummary summary =
      TRY(is_tosa ? bench_tosa(options, measure_options) : bench_program(options, measure_options));
  bar.clear();
  // With less, the median is still that of undisturbed runs.
  constexpr double kMaxWaited = 0.05;
  if (summary.measured.waited > kMaxWaited && options.common.speaks()) {
    Diagnostics diagnostics;
    diagnostics.warn("busy-machine", "",
                     fmt::format("other programs used the CPU for {:.0f} % of the time: the figures are not reliable",
                                 100 * summary.measured.waited));
    print_diagnostics(diagnostics);
  }
  if (options.common.wants_json || !options.common.is_quiet) {
    print_output(options.common.wants_json ? to_json(summary) : to_text(summary, {.has_colour = stdout_has_colour()}));
  }
  return {};
}

}  // namespace

Command add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measures the latency of a program or a TOSA graph: load time, percentiles, delegate and host time.");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("FILE", options->file, "a program file (.pte) or a TOSA graph (.tosa)")->required();
  command
      ->add_option("--input", options->inputs,
                   "an .npy file for each input, in order; default: ones and zeros of the largest sizes")
      ->allow_extra_args(false);
  command->add_option("--seconds", options->seconds, "seconds to measure")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  add_program_options(*command, options->program);
  add_limit_options(*command, options->limits);
  command->add_flag(
      "--profile", options->program.with_profile,
      "also print the time of each operator in XNNPACK delegates, as XNNPACK measures it, and of each host call");
  add_common_flags(*command, options->common);
  command->footer(
      "Examples:\n  isthmus bench model.pte\n  isthmus bench model.pte --threads 1 --seconds 10 --json\n  isthmus "
      "bench model.pte --profile");
  return {command, [options] { return fine(bench(*options)); }};
}

}  // namespace isthmus
