// Takes a model from its file to a partitioned graph.
#include "session/session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "calibrate/finite.h"
#include "session/quantize_with_gate.h"

namespace isthmus {
namespace {

// The archive's example, where it fits the graph.
std::optional<Sample> example_of(const Journey& journey) {
  const Graph& graph = journey.prepared->graph;
  auto source = example_samples(graph, journey.opened.model.examples);
  if (!source) return std::nullopt;
  auto sample = (*source)->next();
  if (!sample || !*sample || !check_finite(graph, **sample, 0)) return std::nullopt;
  return **std::move(sample);
}

// Statistics, and the samples by which their result is judged.
Expected<void> gather(const JourneyOptions& options, const xnnpack::ThreadPool& threads, Journey& journey) {
  const Graph& graph = journey.prepared->graph;
  const std::optional<Sample> example = example_of(journey);
  const bool has_samples = !options.samples.data.empty() && !options.samples.data.ends_with(".stats");
  if (has_samples) {
    Diagnostics said_again;
    const auto source =
        TRY(samples_of(options.samples, options.model.file, journey.opened.model, *journey.prepared, said_again));
    journey.held_out = TRY(
        within(hold_out(graph, *source, example, max_seen_samples(graph), journey.diagnostics), options.samples.data));
  }
  journey.statistics =
      TRY(gather_statistics(options.samples, options.model.file, journey.opened.model, *journey.prepared, threads,
                            journey.diagnostics, journey.held_out.left_out));
  if (has_samples) return {};
  if (options.samples.data.empty()) {
    journey.held_out.why_none = "ranges come from the archive's example alone; give samples with --calibrate";
  } else {
    journey.held_out = hold_out(graph, *journey.statistics, example, journey.diagnostics);
  }
  // Techniques that see samples again have no others.
  if (!needs_samples(journey.config)) return {};
  if (!example)
    return within(example_samples(graph, journey.opened.model.examples), options.model.file).map([](auto&&) {});
  journey.held_out.samples.clear();
  journey.held_out.seen = {*example};
  journey.held_out.what.clear();
  journey.held_out.why_none = "the archive's example, the only sample at hand, served to quantize";
  return {};
}

// Ranges of values behind the inputs that 8 bits cannot hold.
void warn_of_ranges(Journey& journey) {
  const QuantPlan& plan = journey.quantized->plan;
  const auto matters = [&](ValueId id) { return plan.group(id) != nullptr && plan.group(id)->storage == DType::kI8; };
  warn_of_values(journey.quantized->model, *journey.statistics, matters, journey.diagnostics);
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
  add_sequence(command, options.samples);
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
  return Journey{std::move(opened), std::move(wanted), std::move(config), std::move(diagnostics), {}, {}, {}, {}, {}};
}

Expected<void> travel(const JourneyOptions& options, bool with_data, Journey& journey) {
  const Graph& loaded = journey.opened.model.graph;
  journey.prepared = TRY(within(prepare(loaded, journey.wanted, journey.diagnostics), options.model.file));
  journey.opened.model.examples = fitting_examples(journey.prepared->graph, std::move(journey.opened.model.examples));
  if (with_data) {  // samples cannot pass an op that is unknown
    TRY(within(demand_known_ops(journey.prepared->graph, journey.prepared->partitioning, journey.target()),
               options.model.file));
  }
  if (options.is_float) return keep_in_float(*journey.prepared, journey.target());
  // An archive that PyTorch has quantized may know all that data would tell.
  if (with_data && options.samples.data.empty() && !needs_samples(journey.config) &&
      is_quantized_by_archive(journey.prepared->graph)) {
    const Diagnostics before = journey.diagnostics;
    TRY(quantize_with_gate(options, journey));
    if (journey.quantized->plan.has_ranges) {
      if (auto example = example_of(journey)) {
        journey.held_out.samples = {*std::move(example)};
        journey.held_out.what = "the archive's example";
      }
      return {};
    }
    // What it says otherwise will be said again.
    const Diagnostics tried = std::exchange(journey.diagnostics, before);
    for (const Diagnostic& said : tried.entries()) {
      if (said.code == kNotPinned) journey.diagnostics.warn(said.code, said.node, said.text);
    }
  }
  if (!with_data) return quantize_with_gate(options, journey);
  const xnnpack::ThreadPool threads(options.threads);
  const auto begin = std::chrono::steady_clock::now();
  TRY(gather(options, threads, journey));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  journey.prepared->times.push_back({std::string(name_of(Stage::kCalibrate)), elapsed.count()});
  TRY(quantize_with_gate(options, journey));
  if (!journey.held_out.has_bad_inputs) warn_of_ranges(journey);
  return {};
}

Expected<void> demand_runnable(const JourneyOptions& options, const Journey& journey) {
  return within(demand_host_kernels(journey.graph(), journey.places(), journey.target()), options.model.file);
}

CompileSummary summary_of(const JourneyOptions& options, const Journey& journey) {
  return summarize(options.model.file, journey.target(), *journey.prepared, journey.codes(), journey.diagnostics);
}

Expected<std::vector<std::vector<Tensor>>> few_samples(const JourneyOptions& options, const Journey& journey,
                                                       std::size_t most) {
  Diagnostics ignored;
  DataOptions few = options.samples;
  if (few.data.ends_with(".stats")) few.data.clear();
  few.most = std::min({few.most.value_or(most), few.sequence.value_or(most), most});
  const auto source = TRY(samples_of(few, options.model.file, journey.opened.model, *journey.prepared, ignored));
  std::vector<std::vector<Tensor>> samples;
  while (auto sample = TRY(source->next())) samples.push_back(std::move(*sample));
  return samples;
}

Expected<std::vector<ValueError>> errors_of(const JourneyOptions& options, const Journey& journey) {
  constexpr std::size_t kMostSamples = 4;
  const auto samples = given_samples(TRY(few_samples(options, journey, kMostSamples)));
  return layer_errors(journey.quantized->model, journey.quantized->quantized, journey.quantized->plan, journey.target(),
                      *samples, kMostSamples);
}

}  // namespace isthmus
