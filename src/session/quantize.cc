// Pins, equalize, plan, apply, prove, partition; corrects biases on samples.
#include "session/quantize.h"

#include <fmt/format.h>

#include <utility>

#include "ir/verify.h"
#include "quantize/config/pins.h"
#include "quantize/improve/correct_biases.h"
#include "quantize/improve/equalize.h"
#include "quantize/prove/prove.h"
#include "targets/partition.h"

namespace isthmus {
namespace {

// Pins that the device cannot hold beside each other give way, and the model says so from then on.
Expected<QuantPlan> plan_with_pins(Graph& model, const TargetDesc& target, const Statistics* statistics,
                                   const QuantConfig& config, Diagnostics& diagnostics) {
  constexpr int kMaxRounds = 8;
  for (int round = 0; round < kMaxRounds; ++round) {
    Diagnostics said = diagnostics;
    QuantPlan found = TRY(plan(model, target, statistics, config, said));
    if (found.moved_pins.empty()) {
      diagnostics = std::move(said);
      return found;
    }
    for (const auto& [value, pin] : found.moved_pins) {
      const double before = std::get<FakeQuantizeAttrs>(model.producer(value)->attrs).scale;
      diagnostics.warn("illegal-ratio", model[value].name,
                       fmt::format("{} cannot convert between the scales that the archive sets around %{}: its scale "
                                   "is widened from {:.6g} to {:.6g}; give the neighbours more similar ranges",
                                   target.name, model[value].name, before, static_cast<double>(pin.quant.scale())));
    }
    model = with_pins(model, found.moved_pins);
  }
  return bad_input("the target cannot represent the scale ratios of the archive's parameters");
}

}  // namespace

Expected<Adjusted> adjust(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                          const QuantConfig& config, const InputMoments* moments) {
  Adjusted result;
  result.given = statistics;
  result.given_moments = moments;
  StageClock clock(result.times);
  result.graph = TRY(settle_pins(prepared.graph, target, result.said));
  if (!config.equalize || statistics == nullptr) return result;
  Equalized equalized = TRY(clock.stage(Stage::kEqualize, equalize(result.graph, *statistics)));
  result.graph = std::move(equalized.graph);
  result.own = std::move(equalized.statistics);
  if (moments != nullptr && !equalized.factors.empty()) {
    result.own_moments = scaled(*moments, result.graph, equalized.factors);
  }
  return result;
}

Expected<QuantizedModel> quantize(Adjusted& adjusted, const TargetDesc& target, const QuantConfig& config,
                                  Diagnostics& diagnostics) {
  QuantizedModel result;
  append_times(result.times, std::exchange(adjusted.times, {}));
  StageClock clock(result.times);
  for (const Diagnostic& entry : adjusted.said.entries()) diagnostics.add(entry);
  result.model = adjusted.graph;
  const Statistics* statistics = adjusted.statistics();
  result.plan = TRY(clock.stage(Stage::kPlan, plan_with_pins(result.model, target, statistics, config, diagnostics)));
  const Graph& graph = result.model;
  result.quantized = TRY(clock.stage(
      Stage::kQuantize, apply(graph, result.plan, target, statistics, config, adjusted.moments(), &adjusted.layers)));
  TRY(verify(result.quantized.graph));
  TRY(clock.stage(Stage::kProve, prove(result.quantized, target, graph, config)));
  result.partitioning = clock.stage(Stage::kPartition, partition(result.quantized.graph, target));
  return result;
}

Expected<QuantizedModel> quantize(const Prepared& prepared, const TargetDesc& target, const Statistics* statistics,
                                  const QuantConfig& config, Diagnostics& diagnostics, const InputMoments* moments) {
  Adjusted adjusted = TRY(adjust(prepared, target, statistics, config, moments));
  return quantize(adjusted, target, config, diagnostics);
}

bool needs_samples(const QuantConfig& config) {
  return config.promote > 0 || config.bias_correction == BiasCorrection::kSequential;
}

Expected<QuantizedModel> quantize(Adjusted& adjusted, const TargetDesc& target, const QuantConfig& config,
                                  const std::vector<std::vector<Tensor>>& samples, Diagnostics& diagnostics) {
  QuantizedModel result = TRY(quantize(adjusted, target, config, diagnostics));
  if (config.bias_correction == BiasCorrection::kSequential) {
    StageClock clock(result.times);
    TRY(clock.stage(Stage::kCorrect, correct_biases(result.model, result.quantized, target, samples)));
    TRY(clock.stage(Stage::kProve, prove(result.quantized, target, result.model, config)));
  }
  return result;
}

}  // namespace isthmus
