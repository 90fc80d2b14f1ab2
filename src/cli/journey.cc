// Takes a model from its file to a partitioned graph.
#include "cli/journey.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace isthmus {
namespace {

// How many samples the techniques see that need them again: they are interpreted, node by node.
constexpr std::size_t kMostRefining = 8;

Expected<void> quantize_journey(const JourneyOptions& options, const Statistics* statistics,
                                const std::vector<std::vector<Tensor>>& samples, Journey& journey) {
  journey.quantized = TRY(
      within(quantize(*journey.prepared, journey.backend(), statistics, journey.config, samples, journey.diagnostics),
             options.model.file));
  return {};
}

}  // namespace

void add_journey_options(CLI::App& command, JourneyOptions& options) {
  add_model_options(command, options.model);
  add_quant_options(command, options.quant);
  command.add_flag("--float", options.is_float, "keep all numbers in float");
}

void add_data_options(CLI::App& command, JourneyOptions& options, const std::string& without) {
  command.add_option("--calibrate", options.samples.data,
                     "an .npz with one array per input (its first axis counts samples), a folder of .npy and .npz "
                     "files, or a .stats file of `isthmus calibrate`; without it, " +
                         without);
  command.add_option("--samples", options.samples.most, "at most so many samples")->check(CLI::PositiveNumber);
  add_reproducible(command, options.samples);
  command
      .add_option("--threads", options.threads,
                  "samples at the same time; as many as there are CPUs for this process by default")
      ->check(CLI::Range(1, 1024));
}

Expected<Journey> start(const JourneyOptions& options) {
  Diagnostics diagnostics;
  OpenModel opened = TRY(open_model(options.model.file, diagnostics));
  PrepareOptions wanted = TRY(prepare_options(options.model));
  QuantConfig config = TRY(config_of(options.quant));
  return Journey{std::move(opened), std::move(wanted), std::move(config), std::move(diagnostics), {}, {}, {}};
}

Expected<void> travel(const JourneyOptions& options, bool with_data, Journey& journey) {
  const Graph& loaded = journey.opened.model.graph;
  journey.prepared = TRY(within(prepare(loaded, journey.wanted, journey.diagnostics), options.model.file));
  if (options.is_float) return keep_in_float(*journey.prepared, journey.backend());
  // An archive that PyTorch has quantized may know all that data would tell.
  if (with_data && options.samples.data.empty() && !needs_samples(journey.config) &&
      pinned_flow(journey.prepared->graph).has_pins) {
    const Diagnostics before = journey.diagnostics;
    TRY(quantize_journey(options, nullptr, {}, journey));
    if (journey.quantized->plan.has_ranges) return {};
    // What it says otherwise will be said again.
    const Diagnostics tried = std::exchange(journey.diagnostics, before);
    for (const Diagnostic& said : tried.entries()) {
      if (said.code == kNotPinned) journey.diagnostics.warn(said.code, said.node, said.text);
    }
  }
  if (with_data) {
    const xnnpack::ThreadPool threads(options.threads);
    const auto begin = std::chrono::steady_clock::now();
    journey.statistics = TRY(gather_statistics(options.samples, options.model.file, journey.opened.model,
                                               *journey.prepared, threads, journey.diagnostics));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    journey.prepared->times.push_back({"calibrate", elapsed.count()});
  }
  const Statistics* known = journey.statistics ? &*journey.statistics : nullptr;
  std::vector<std::vector<Tensor>> samples;
  if (known != nullptr && needs_samples(journey.config)) {
    samples = TRY(few_samples(options, journey, kMostRefining));
  }
  return quantize_journey(options, known, samples, journey);
}

CompileSummary summary_of(const JourneyOptions& options, const Journey& journey) {
  return summarize(options.model.file, journey.backend(), *journey.prepared, journey.codes(), journey.diagnostics);
}

Expected<std::vector<std::vector<Tensor>>> few_samples(const JourneyOptions& options, const Journey& journey,
                                                       std::size_t most) {
  Diagnostics ignored;
  DataOptions few = options.samples;
  if (few.data.ends_with(".stats")) few.data.clear();
  few.most = std::min(few.most.value_or(most), most);
  const auto source = TRY(samples_of(few, options.model.file, journey.opened.model, *journey.prepared, ignored));
  std::vector<std::vector<Tensor>> samples;
  while (auto sample = TRY(source->next())) samples.push_back(std::move(*sample));
  return samples;
}

Expected<std::vector<ValueError>> errors_of(const JourneyOptions& options, const Journey& journey) {
  constexpr std::size_t kMostSamples = 4;
  const auto samples = given_samples(TRY(few_samples(options, journey, kMostSamples)));
  return layer_errors(journey.quantized->model, journey.quantized->quantized, journey.quantized->plan,
                      journey.backend(), *samples, kMostSamples);
}

}  // namespace isthmus
