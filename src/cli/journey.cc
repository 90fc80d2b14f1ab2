// Takes a model from its file to a partitioned graph.
#include "cli/journey.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "calibrate/finite.h"
#include "cli/float_reference.h"
#include "evaluate/gate.h"
#include "quantize/techniques.h"

namespace isthmus {
namespace {

// How many samples the techniques see that need them again: they are interpreted, node by node.
constexpr std::size_t kMostRefining = 8;
// How many samples of calibration have a say in what is switched off.
constexpr std::size_t kSeenOfSmall = 31;
constexpr std::size_t kSeenOfLarge = 4;

// With fewer samples, any of several techniques seems to hurt by chance.
constexpr std::size_t kTrialsForEach = 8;

// A model of which dozens of runs and several attempts cost next to nothing.
bool is_small(const Graph& graph) {
  constexpr std::int64_t kMostNumbers = std::int64_t{1} << 20;
  std::int64_t numbers = 0;
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    std::int64_t here = 1;
    for (const Dim dim : graph.type(ValueId{i}).shape) here *= dim.is_fixed() ? std::min(dim.value(), kMostNumbers) : 1;
    numbers += std::clamp<std::int64_t>(here, 0, kMostNumbers);
    if (numbers > kMostNumbers) return false;
  }
  return true;
}

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
    const std::size_t seen = is_small(graph) ? kSeenOfSmall : kMostRefining;
    journey.held_out = TRY(within(hold_out(graph, *source, example, seen, journey.diagnostics), options.samples.data));
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
  journey.held_out = {{}, {}, {*example}, "", "the archive's example, the only sample at hand, served to quantize"};
  return {};
}

// The samples that have a say in what is switched off, with what the model in float makes of them.
Expected<std::vector<Trial>> trials_of(const Journey& journey, bool is_small_model) {
  const Runner reference = TRY(TRY(float_runners(*journey.prepared, journey.opened.model))());
  std::vector<Trial> trials;
  const auto add = [&](const Sample& sample, bool is_held_out) -> Expected<void> {
    trials.push_back({sample, TRY(reference(sample)), is_held_out});
    return {};
  };
  for (const Sample& sample : journey.held_out.samples) TRY(add(sample, true));
  const std::size_t most = is_small_model ? kSeenOfSmall : kSeenOfLarge;
  for (std::size_t i = 0; i < std::min(most, journey.held_out.seen.size()); ++i) {
    TRY(add(journey.held_out.seen[i], false));
  }
  return trials;
}

// One way to quantize the model, as far as it was tried.
struct Tried {
  QuantizedModel model;
  Diagnostics said;
  std::optional<Compiled> compiled;
};

Expected<void> quantize_journey(const JourneyOptions& options, const xnnpack::ThreadPool* threads, Journey& journey) {
  const Statistics* statistics = journey.statistics ? &*journey.statistics : nullptr;
  std::vector<Sample> refining = journey.held_out.seen;
  refining.resize(std::min(refining.size(), kMostRefining));
  if (!needs_samples(journey.config)) refining.clear();
  std::map<std::vector<bool>, Tried> tried;
  const auto try_out = [&](const QuantConfig& config) -> Expected<Tried*> {
    std::vector<bool> key;
    for (const Technique& technique : techniques()) key.push_back(technique.is_on(config));
    if (const auto found = tried.find(key); found != tried.end()) return &found->second;
    Tried result;
    result.model = TRY(within(quantize(*journey.prepared, journey.backend(), statistics, config, refining, result.said),
                              options.model.file));
    return &tried.emplace(std::move(key), std::move(result)).first->second;
  };
  const Attempt attempt = [&](const QuantConfig& config) -> Expected<Runner> {
    Tried* const found = TRY(try_out(config));
    if (!found->compiled) {
      found->compiled = TRY(compile(found->model.quantized.graph, found->model.partitioning, journey.backend(),
                                    journey.opened.model.examples, nullptr));
    }
    return program_runners(Blob(found->compiled->bytes, nullptr), &found->model.quantized.graph)();
  };
  TRY(try_out(journey.config));
  Diagnostics switched_off;
  // Trials run on this CPU's kernels, which a reproducible file must not depend on.
  const bool has_judge = threads != nullptr && statistics != nullptr && !journey.held_out.samples.empty();
  if (has_judge && !options.samples.is_reproducible) {
    const bool is_small_model = is_small(journey.prepared->graph);
    // A model that cannot run here is not judged here.
    if (const auto trials = trials_of(journey, is_small_model)) {
      const bool tries_each = is_small_model && trials->size() >= kTrialsForEach;
      journey.config = without_harm(journey.config, *trials, attempt, tries_each, switched_off);
    }
  }
  Tried& chosen = *TRY(try_out(journey.config));
  for (const Diagnostics* said : {&chosen.said, &switched_off}) {
    for (const Diagnostic& entry : said->entries()) {
      if (entry.severity == Severity::kWarning) {
        journey.diagnostics.warn(entry.code, entry.node, entry.text);
      } else {
        journey.diagnostics.note(entry.code, entry.node, entry.text);
      }
    }
  }
  journey.quantized = std::move(chosen.model);
  journey.compiled = std::move(chosen.compiled);
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
  if (options.is_float) return keep_in_float(*journey.prepared, journey.backend());
  // An archive that PyTorch has quantized may know all that data would tell.
  if (with_data && options.samples.data.empty() && !needs_samples(journey.config) &&
      pinned_flow(journey.prepared->graph).has_pins) {
    const Diagnostics before = journey.diagnostics;
    TRY(quantize_journey(options, nullptr, journey));
    if (journey.quantized->plan.has_ranges) {
      if (auto example = example_of(journey))
        journey.held_out = {{*std::move(example)}, {}, {}, "the archive's example", ""};
      return {};
    }
    // What it says otherwise will be said again.
    const Diagnostics tried = std::exchange(journey.diagnostics, before);
    for (const Diagnostic& said : tried.entries()) {
      if (said.code == kNotPinned) journey.diagnostics.warn(said.code, said.node, said.text);
    }
  }
  if (!with_data) return quantize_journey(options, nullptr, journey);
  const xnnpack::ThreadPool threads(options.threads);
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t said_before = journey.diagnostics.entries().size();
  TRY(gather(options, threads, journey));
  const bool has_sound_inputs = journey.diagnostics.entries().size() == said_before;
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  journey.prepared->times.push_back({"calibrate", elapsed.count()});
  TRY(quantize_journey(options, &threads, journey));
  if (has_sound_inputs) warn_of_ranges(journey);
  return {};
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
