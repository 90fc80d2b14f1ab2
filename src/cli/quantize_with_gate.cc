// Quantizes, compiles and runs the model in several configurations, and keeps the best.
#include "cli/quantize_with_gate.h"

#include <algorithm>
#include <utility>

#include "cli/float_reference.h"
#include "evaluate/gate.h"
#include "quantize/techniques.h"

namespace isthmus {
namespace {

// Samples for the techniques that run them: each is interpreted, node by node.
constexpr std::size_t kRefiningSamples = 8;
// Trials on samples that calibration saw, for small and for large models.
constexpr std::size_t kSeenTrialsSmall = 31;
constexpr std::size_t kSeenTrialsLarge = 4;
// With fewer samples, any of several techniques seems to hurt by chance.
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
  Attempts(const JourneyOptions& options, const Journey& journey) : options_(options), journey_(journey) {
    if (!needs_samples(journey.config)) return;
    const std::vector<Sample>& seen = journey.held_out.seen;
    refining_.assign(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(std::min(seen.size(), kRefiningSamples)));
  }

  // Stands until the next call.
  Expected<Tried*> quantized(const QuantConfig& config) {
    std::vector<bool> key;
    for (const Technique& technique : techniques()) key.push_back(technique.is_on(config));
    for (std::size_t i = 0; i < tried_.size(); ++i) {
      if (keys_[i] == key) return &tried_[i];
    }
    const Statistics* statistics = journey_.statistics ? &*journey_.statistics : nullptr;
    Tried result;
    result.model =
        TRY(within(quantize(*journey_.prepared, journey_.backend(), statistics, config, refining_, result.said),
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
    if (options_.samples.is_reproducible) return integer_runners(graph, journey_.backend().integers.arithmetic)();
    if (!tried.compiled) {
      tried.compiled =
          TRY(compile(graph, tried.model.partitioning, journey_.backend(), journey_.opened.model.examples, nullptr));
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
  std::vector<Sample> refining_;
  // The first, which is mostly chosen, and the last: models are large.
  std::vector<std::vector<bool>> keys_;
  std::vector<Tried> tried_;
};

// Held-out samples and some that calibration saw, with the float model's outputs.
Expected<std::vector<Trial>> trials_of(const Journey& journey, const Attempts& attempts, std::size_t max_seen) {
  const Runner reference = TRY(attempts.reference());
  std::vector<Trial> trials;
  const auto add = [&](const Sample& sample, bool is_held_out) -> Expected<void> {
    trials.push_back({sample, TRY(reference(sample)), is_held_out});
    return {};
  };
  for (const Sample& sample : journey.held_out.samples) TRY(add(sample, true));
  for (std::size_t i = 0; i < std::min(max_seen, journey.held_out.seen.size()); ++i) {
    TRY(add(journey.held_out.seen[i], false));
  }
  return trials;
}

}  // namespace

std::size_t max_seen_samples(const Graph& graph) { return is_small(graph) ? kSeenTrialsSmall : kRefiningSamples; }

Expected<void> quantize_with_gate(const JourneyOptions& options, Journey& journey) {
  Attempts attempts(options, journey);
  TRY(attempts.quantized(journey.config));
  Diagnostics switched_off;
  if (journey.statistics && !journey.held_out.samples.empty()) {
    const bool is_small_model = is_small(journey.prepared->graph);
    // A model that cannot run here is not judged here.
    const auto trials = trials_of(journey, attempts, is_small_model ? kSeenTrialsSmall : kSeenTrialsLarge);
    if (trials) {
      const GateOptions gate{.tries_each = is_small_model && trials->size() >= kTrialsForEach,
                             .float_costs_time = journey.backend().integers.has_float};
      const Attempt attempt = [&](const QuantConfig& config) { return attempts.runner(config); };
      journey.config = without_harm(journey.config, *trials, attempt, gate, switched_off);
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
