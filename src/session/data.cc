// Runs calibration where somebody watches.
#include "session/data.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>

#include "base/bytes.h"
#include "calibrate/held_out.h"
#include "session/open_model.h"
#include "cli/terminal.h"
#include "ir/fingerprint.h"
#include "stats/stats_file.h"

namespace isthmus {
namespace {

std::atomic<bool> is_interrupted{false};  // NOLINT: a signal handler reaches nothing else

// While one of these lives, Ctrl-C asks for an orderly end.
class InterruptWatch {
 public:
  InterruptWatch() : former_(std::signal(SIGINT, [](int) { is_interrupted = true; })) {}
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  ~InterruptWatch() { std::signal(SIGINT, former_); }

 private:
  void (*former_)(int);
};

Expected<Statistics> read_known(const std::string& path, const Prepared& prepared, bool is_reproducible) {
  Statistics statistics = TRY(within(read_stats(TRY(map_file(path))), path));
  if (statistics.key != fingerprint(prepared.graph, kStatsVersion)) {
    return bad_input(
        fmt::format("{} was made from another model, for another target or by another version: calibrate again", path));
  }
  if (is_reproducible && !statistics.is_reproducible) {
    return bad_input(fmt::format("{} was made without --reproducible: calibrate again with it", path));
  }
  return statistics;
}

}  // namespace

void add_sequence(CLI::App& command, DataOptions& options) {
  command
      .add_option(
          "--sequence", options.sequence,
          "of a model with state: it begins anew after so many samples; all of them are one sequence by default")
      ->check(CLI::PositiveNumber);
}

void add_reproducible(CLI::App& command, DataOptions& options) {
  command.add_flag("--reproducible", options.is_reproducible,
                   "calibrate with kernels that give the same bits on every CPU, so that the result is the same file "
                   "everywhere; slower than XNNPACK's, whose last bits depend on the CPU");
}

Expected<std::unique_ptr<Samples>> samples_of(const DataOptions& options, const std::string& file, const Model& model,
                                              const Prepared& prepared, Diagnostics& diagnostics) {
  if (!options.data.empty()) {
    SampleOptions wanted;
    if (options.most) wanted.most = *options.most;
    auto samples = TRY(open_samples(options.data, prepared.graph, wanted, diagnostics));
    return options.sequence ? in_sequences(std::move(samples), *options.sequence) : std::move(samples);
  }
  diagnostics.warn("one-sample", "",
                   "no data given: ranges come from the example inputs alone and are not fit for use");
  return within(example_samples(prepared.graph, model.examples), file);
}

FloatKernels float_kernels_of(const DataOptions& options) {
  return options.is_reproducible ? FloatKernels::kReference : FloatKernels::kXnnpack;
}

Expected<Statistics> gather_statistics(const DataOptions& options, const std::string& file, const Model& model,
                                       const Prepared& prepared, const xnnpack::ThreadPool& threads,
                                       Diagnostics& diagnostics, const std::vector<std::size_t>& left_out) {
  if (options.data.ends_with(".stats")) return read_known(options.data, prepared, options.is_reproducible);
  const std::unique_ptr<Samples> samples =
      without(TRY(samples_of(options, file, model, prepared, diagnostics)), left_out);
  const InterruptWatch watch;
  ProgressBar bar("calibrating");
  const auto progress = [&](std::size_t done) {
    if (const auto count = samples->count()) bar.show(static_cast<double>(done) / static_cast<double>(*count));
    return !is_interrupted;
  };
  auto result = calibrate(prepared, *samples, threads, progress, diagnostics, float_kernels_of(options));
  bar.clear();
  return within(std::move(result), options.data.empty() ? file : options.data);
}

}  // namespace isthmus
