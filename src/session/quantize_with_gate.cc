// Quantizes, compiles and runs the model in several configurations, and keeps the best.
#include "session/quantize_with_gate.h"

#include <algorithm>
#include <utility>

#include "session/runners.h"
#include "evaluate/gate.h"
#include "quantize/config/techniques.h"
#include "quantize/plan/front.h"

namespace isthmus {
namespace {

// Samples for the techniques that run them: each is interpreted, node by node.
constexpr std::size_t kRefiningSamples = 8;
// Samples that calibration saw and that serve for trials, for small and for large models.
constexpr std::size_t kSeenTrialsSmall = 32;
constexpr std::size_t kSeenTrialsLarge = 4;
// Each technique is judged with as many samples or more: with fewer, some of them seem to hurt by chance.
constexpr std::size_t kTrialsForEach = 8;

// Dozens of runs and several attempts cost little for a model of up to a million activations.
bool is_small(const Graph& graph) {
  constexpr std::int64_t kMaxActivations = std::int64_t{1} << 20;
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
    std::int64_t count = 1;
    for (const Dim dim : graph.type(ValueId{i}).shape) {
      count *= dim.is_fixed() ? std::clamp<std::int64_t>(dim.value(), 0, kMaxActivations) : 1;
      count = std::min(count, kMaxActivations);
    }
    sum += count;
    if (sum > kMaxActivations) return false;
  }
  return true;
}

// One configuration, as far as it was tried.
struct Tried {
  QuantizedModel model;
  Diagnostics said;
  std::optional<Compiled> compiled;
};

class Attempts {
 public:
  Attempts(const JourneyOptions& options, const Journey& journey, const Statistics* statistics)
      : options_(options), journey_(journey), statistics_(statistics) {
    if (!needs_samples(journey.config)) return;
    const std::vector<Sample>& seen = journey.held_out.seen;
    refining_.assign(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(std::min(seen.size(), kRefiningSamples)));
  }

  // Stands until the next call.
  Expected<Tried*> quantized(const QuantConfig& config) {
    std::vector<bool> key = techniques_on(config);
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (keys_[i] == key) return &tried_[i];
    }
    Tried result;
    result.model =
        TRY(within(quantize(*journey_.prepared, journey_.target(), statistics_, config, refining_, result.said),
                   options_.model.file));
    const std::size_t place = std::min<std::size_t>(tried_.size(), 1);
    tried_.resize(place + 1);
    keys_.resize(place + 1);
    keys_[place] = std::move(key);
    tried_[place] = std::move(result);
    return &tried_[place];
  }

  Expected<Runner> runner(const QuantConfig& config) {
    Tried& tried = *TRY(quantized(config));
    const Graph& graph = tried.model.quantized.graph;
    if (options_.samples.is_reproducible) return integer_runners(graph, *journey_.target().integers.kernels)();
    if (!tried.compiled) {
      tried.compiled =
          TRY(compile(graph, tried.model.partitioning, journey_.target(), journey_.opened.model.examples, nullptr));
    }
    return program_runners(Blob(tried.compiled->bytes, nullptr), &graph)();
  }

  Expected<Runner> reference() const {
    if (options_.samples.is_reproducible) return reference_runners(journey_.prepared->graph)();
    return TRY(float_runners(*journey_.prepared, journey_.opened.model))();
  }

 private:
  const JourneyOptions& options_;
  const Journey& journey_;
  const Statistics* statistics_;
  std::vector<Sample> refining_;
  // The first, which is mostly chosen, and the last: models are large.
  std::vector<std::vector<bool>> keys_;
  std::vector<Tried> tried_;
};

// Whether some first layers would be computed in float.
bool has_float_stem(const Journey& journey) {
  if (!journey.target().integers.has_float) return false;
  const std::vector<bool> is_first = front_layers(journey.prepared->graph, journey.config.front);
  return std::ranges::find(is_first, true) != is_first.end();
}

// What the gate compares configurations by.
struct TrialData {
  std::vector<Trial> trials;
  std::optional<Statistics> statistics;  // of other samples than the trials'; else those of all samples serve
};

// A small model is calibrated once more on every other sample, and judged on those between: what was measured on a
// sample flatters it. For a large one some that calibration saw serve. Held-out samples judge the model as it will be.
Expected<TrialData> trial_data_of(const JourneyOptions& options, const Journey& journey, const Attempts& attempts) {
  const std::vector<Sample>& seen = journey.held_out.seen;
  // A model with states is judged on one sequence from its start.
  const bool has_states = !journey.prepared->graph.states().empty();
  const bool is_split = !has_states && is_small(journey.prepared->graph) && seen.size() >= kTrialsForEach;
  const Runner reference = TRY(attempts.reference());
  TrialData result;
  const auto add = [&](const Sample& sample, bool is_held_out) -> Expected<void> {
    result.trials.push_back({sample, TRY(reference(sample)), is_held_out});
    return {};
  };
  for (const Sample& sample : journey.held_out.samples) TRY(add(sample, true));
  std::vector<Sample> calibrated;
  if (has_states) return result;
  for (std::size_t i = 0; i < (is_split ? seen.size() : std::min(kSeenTrialsLarge, seen.size())); ++i) {
    if (is_split && i % 2 == 0) {
      calibrated.push_back(seen[i]);
    } else {
      TRY(add(seen[i], false));
    }
  }
  if (!is_split) return result;
  const xnnpack::ThreadPool threads(options.threads);
  Diagnostics said_before;
  const auto samples = given_samples(std::move(calibrated));
  result.statistics =
      TRY(calibrate(*journey.prepared, *samples, threads, {}, said_before, float_kernels_of(options.samples)));
  return result;
}

}  // namespace

std::size_t max_seen_samples(const Graph& graph) { return is_small(graph) ? kSeenTrialsSmall : kRefiningSamples; }

Expected<void> quantize_with_gate(const JourneyOptions& options, Journey& journey) {
  Attempts attempts(options, journey, journey.statistics ? &*journey.statistics : nullptr);
  TRY(attempts.quantized(journey.config));
  Diagnostics switched_off;
  if (journey.statistics && !journey.held_out.samples.empty()) {
    // A model that cannot run here is not judged here.
    if (const auto data = trial_data_of(options, journey, attempts)) {
      std::optional<Attempts> apart;
      if (data->statistics) apart.emplace(options, journey, &*data->statistics);
      const Attempt attempt = [&](const QuantConfig& config) { return attempts.runner(config); };
      GateOptions gate{.tries_each = apart.has_value(), .float_costs_time = has_float_stem(journey)};
      if (apart) gate.apart = [&](const QuantConfig& config) { return apart->runner(config); };
      journey.config = without_harm(journey.config, data->trials, attempt, gate, switched_off);
    }
  }
  Tried& chosen = *TRY(attempts.quantized(journey.config));
  for (const Diagnostics* said : {&chosen.said, &switched_off}) {
    for (const Diagnostic& entry : said->entries()) journey.diagnostics.add(entry);
  }
  journey.quantized = std::move(chosen.model);
  journey.compiled = std::move(chosen.compiled);
  return {};
}

}  // namespace isthmus
