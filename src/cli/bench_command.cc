// isthmus bench
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "cli/arrays.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/program.h"
#include "cli/terminal.h"
#include "report/bench.h"
#include "run/measure.h"

namespace isthmus {
namespace {

struct BenchOptions {
  std::string file;
  std::vector<std::string> inputs;
  double seconds = 2;
  ProgramOptions program;
  bool wants_json = false;
};

Expected<void> bench(const BenchOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  LoadedProgram program = TRY(load_program(TRY(open_file(options.file)), options.program));
  const std::chrono::duration<double> load_time = std::chrono::steady_clock::now() - start;
  const std::vector<Tensor> inputs =
      TRY(options.inputs.empty() ? within(run::plain_inputs(program.method, program.most_bytes), options.file)
                                 : read_arrays(options.inputs));
  ProgressBar bar("measuring");
  const run::MeasureOptions measure_options{options.seconds, [&bar](double fraction) { bar.show(fraction); }};
  const run::Measurement measured = TRY(within(run::measure(program.method, inputs, measure_options), options.file));
  const BenchSummary summary{options.file, program.threads, load_time.count(), measured};
  bar.clear();
  fmt::print("{}", options.wants_json ? to_json(summary) : to_text(summary, {.has_colour = stdout_has_colour()}));
  return {};
}

}  // namespace

Command add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "How fast a program is: load time, latency, delegate and host time.");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("FILE", options->file, "a program file (.pte)")->required();
  command
      ->add_option("--input", options->inputs,
                   "a .npy file for each input, in order; without any, ones and zeros of the largest sizes")
      ->allow_extra_args(false);
  command->add_option("--seconds", options->seconds, "how long to measure")
      ->check(CLI::Range(0.001, 3600.0))
      ->capture_default_str();
  add_program_options(*command, options->program);
  command->add_flag("--json", options->wants_json, "one JSON object on standard output");
  command->footer("Examples:\n  isthmus bench model.pte\n  isthmus bench model.pte --threads 1 --seconds 10 --json");
  return {command, [options] { return fine(bench(*options)); }};
}

}  // namespace isthmus
