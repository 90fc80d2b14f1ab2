// Quantizes, compiles and runs the model in several configurations, and keeps the best.
#include "session/quantize_with_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "calibrate/samples.h"
#include "engines/xnnpack/thread_pool.h"
#include "evaluate/gate.h"
#include "quantize/plan/front.h"
#include "session/runners.h"

namespace isthmus {
namespace {

// Samples for the techniques that run them: each is interpreted, node by node.
constexpr std::size_t kRefiningSamples = 8;
// Samples that calibration saw and that serve for trials, for small and for large models.
constexpr std::size_t kSeenTrialsSmall = 32;
constexpr std::size_t kSeenTrialsLarge = 4;
// Samples of a kind by which single nodes are judged.
constexpr std::size_t kNodeTrials = 16;
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

// Whether some first layers would be computed in float.
bool has_float_stem(const GateInputs& inputs) {
  if (!inputs.attempt.target.integers.has_float) return false;
  const std::vector<bool> is_first = front_layers(inputs.attempt.prepared.graph, inputs.config.front);
  return std::ranges::find(is_first, true) != is_first.end();
}

// What the gate compares configurations by.
struct TrialData {
  std::vector<Trial> trials;
  std::optional<Statistics> statistics;  // of other samples than the trials'; else those of all samples serve
  std::vector<Sample> calibrated;        // those others
};

Expected<Runner> reference_of(const GateInputs& inputs) {
  if (inputs.attempt.is_reproducible) return reference_runners(inputs.attempt.prepared.graph)();
  return TRY(inputs.float_model.runners())();
}

// A small model is calibrated once more on every other sample, and judged on those between: what was measured on a
// sample flatters it. For a large one some that calibration saw serve. Held-out samples judge the model as it will be.
Expected<TrialData> trial_data_of(const GateInputs& inputs, std::vector<StageTime>& times) {
  const Prepared& prepared = inputs.attempt.prepared;
  const std::vector<Sample>& seen = inputs.held_out.seen;
  // A model with states is judged on one sequence from its start.
  const bool has_states = !prepared.graph.states().empty();
  const bool is_split = !has_states && is_small(prepared.graph) && seen.size() >= kTrialsForEach;
  const Runner reference = TRY(reference_of(inputs));
  TrialData result;
  const auto add = [&](const Sample& sample, bool is_held_out) -> Expected<void> {
    result.trials.push_back({sample, TRY(reference(sample)), is_held_out});
    return {};
  };
  for (const Sample& sample : inputs.held_out.samples) TRY(add(sample, true));
  if (has_states) return result;
  for (std::size_t i = 0; i < (is_split ? seen.size() : std::min(kSeenTrialsLarge, seen.size())); ++i) {
    if (is_split && i % 2 == 0) {
      result.calibrated.push_back(seen[i]);
    } else {
      TRY(add(seen[i], false));
    }
  }
  if (!is_split) return result;
  StageClock clock(times);
  const xnnpack::ThreadPool threads(inputs.threads);
  Diagnostics said_before;
  const auto samples = given_samples(result.calibrated);
  result.statistics = TRY(clock.stage(
      Stage::kCalibrate, calibrate(prepared, inputs.float_model, *samples, threads, {}, said_before, inputs.kernels)));
  return result;
}

AttemptInputs apart_from_trials(AttemptInputs inputs, const TrialData& data) {
  inputs.statistics = &*data.statistics;
  inputs.calibrated = data.calibrated;
  return inputs;
}

// Of everything that was tried and not chosen.
void add_trials(const Attempts& attempts, const Tried* chosen, std::string_view kind, std::vector<StageTime>& times) {
  std::size_t number = 0;
  for (const Tried& tried : attempts.tried()) {
    const std::string of = &tried == chosen ? "" : fmt::format("{} {}", kind, ++number);
    append_times(times, tried.model.times, of);
    if (tried.compiled) append_times(times, tried.compiled->times, of);
  }
}

}  // namespace

std::size_t max_seen_samples(const Graph& graph) { return is_small(graph) ? kSeenTrialsSmall : kRefiningSamples; }

std::vector<Sample> refining_samples(const HeldOut& held_out) {
  const std::size_t count = std::min(held_out.seen.size(), kRefiningSamples);
  return {held_out.seen.begin(), held_out.seen.begin() + static_cast<std::ptrdiff_t>(count)};
}

Expected<std::vector<Trial>> node_trials(const GateInputs& inputs, const std::vector<Sample>& others) {
  const Runner reference = TRY(reference_of(inputs));
  std::vector<Trial> trials;
  const auto add = [&](const std::vector<Sample>& samples, bool is_held_out) -> Expected<void> {
    for (std::size_t i = 0; i < std::min(samples.size(), kNodeTrials); ++i) {
      trials.push_back({samples[i], TRY(reference(samples[i])), is_held_out});
    }
    return {};
  };
  TRY(add(inputs.held_out.samples, true));
  TRY(add(inputs.held_out.seen.empty() ? others : inputs.held_out.seen, false));
  return trials;
}

Expected<Chosen> quantize_with_gate(const GateInputs& all_inputs, const TrialProgress& before_attempt) {
  // Techniques are chosen before nodes are.
  GateInputs inputs = all_inputs;
  inputs.config.promote = 0;
  Chosen result;
  result.config = inputs.config;
  Attempts attempts(inputs.attempt);
  std::optional<Attempts> apart;
  TRY(before_attempt(0, 1));
  TRY(attempts.quantized(inputs.config));
  Diagnostics switched_off;
  std::optional<Error> cancelled;
  if (inputs.attempt.statistics != nullptr && !inputs.held_out.samples.empty()) {
    std::vector<StageTime> apart_times;
    // A model that cannot run here is not judged here.
    if (const auto data = trial_data_of(inputs, apart_times)) {
      append_times(result.times, apart_times, "trials");
      if (data->statistics) apart.emplace(apart_from_trials(inputs.attempt, *data));
      const Attempt attempt = [&](const QuantConfig& config) -> Expected<Runner> {
        if (auto goes_on = before_attempt(0, 1); !goes_on) {
          cancelled = goes_on.error();
          return tl::unexpected<Error>(*cancelled);
        }
        return attempts.runner(config);
      };
      GateOptions gate{.tries_each = apart.has_value(), .float_costs_time = has_float_stem(inputs)};
      if (apart) gate.apart = [&](const QuantConfig& config) { return apart->runner(config); };
      result.config = without_harm(inputs.config, data->trials, attempt, gate, switched_off);
      if (cancelled) return tl::unexpected<Error>(*cancelled);
      if (apart) add_trials(*apart, nullptr, "trial on half of the samples", result.times);
    }
  }
  if (all_inputs.config.promote > 0 && !inputs.held_out.seen.empty()) {
    QuantConfig wanted = result.config;
    wanted.promote = all_inputs.config.promote;
    const std::vector<Trial> trials = TRY(node_trials(inputs, {}));
    Promotion promotion = TRY(promote(attempts, std::move(wanted), trials, before_attempt, switched_off));
    result.config = std::move(promotion.config);
    result.promoted = std::move(promotion.promoted);
  }
  Tried& chosen = *TRY(attempts.quantized(result.config));
  add_trials(attempts, &chosen, "trial", result.times);
  for (const Diagnostics* said : {&chosen.said, &switched_off}) {
    for (const Diagnostic& entry : said->entries()) result.said.add(entry);
  }
  result.model = std::move(chosen.model);
  result.compiled = std::move(chosen.compiled);
  return result;
}

}  // namespace isthmus
