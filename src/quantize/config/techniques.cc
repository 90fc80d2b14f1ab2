// The table of techniques.
#include "quantize/config/techniques.h"

#include <algorithm>

namespace isthmus {
namespace {

constexpr Technique kTechniques[] = {
    {.name = "the range estimator",
     .key = "estimator",
     .off = "estimator = \"minmax\"",
     .is_on = [](const QuantConfig& config) { return config.range.estimator != minmax_estimator(); },
     .switch_off = [](QuantConfig& config) { config.range.estimator = minmax_estimator(); }},
    {.name = "least-squares weight scales",
     .key = "weights",
     .off = "weights = \"minmax\"",
     .is_on = [](const QuantConfig& config) { return config.mse_weights; },
     .switch_off = [](QuantConfig& config) { config.mse_weights = false; }},
    {.name = "joint rounding of weights",
     .key = "weight_rounding",
     .off = "weight_rounding = \"nearest\"",
     .is_on = [](const QuantConfig& config) { return config.rounds_together; },
     .switch_off = [](QuantConfig& config) { config.rounds_together = false; }},
    {.name = "bias correction",
     .key = "bias_correction",
     .off = "bias_correction = \"off\"",
     .is_on = [](const QuantConfig& config) { return config.bias_correction != BiasCorrection::kOff; },
     .switch_off = [](QuantConfig& config) { config.bias_correction = BiasCorrection::kOff; }},
    {.name = "channel equalization",
     .key = "equalize",
     .off = "equalize = false",
     .is_on = [](const QuantConfig& config) { return config.equalize; },
     .switch_off = [](QuantConfig& config) { config.equalize = false; }},
    {.name = "higher precision for the first layers",
     .key = "front",
     .off = "front = 0",
     .is_on = [](const QuantConfig& config) { return config.front > 0; },
     .switch_off = [](QuantConfig& config) { config.front = 0; },
     .min_gain_db = 0.3,
     .adds_precision = true},
    {.name = "16 bits for inputs of accumulators",
     .key = "wide",
     .off = "wide = false",
     .is_on = [](const QuantConfig& config) { return config.wide; },
     .switch_off = [](QuantConfig& config) { config.wide = false; },
     .adds_precision = true},
    {.name = "higher precision where the outputs gain most",
     .key = "widen",
     .off = "widen = 0",
     .is_on = [](const QuantConfig& config) { return config.widen > 0; },
     .switch_off = [](QuantConfig& config) { config.widen = 0; },
     .adds_precision = true},
};

}  // namespace

std::span<const Technique> techniques() { return kTechniques; }

std::vector<bool> techniques_on(const QuantConfig& config) {
  std::vector<bool> on;
  for (const Technique& technique : kTechniques) on.push_back(technique.is_on(config));
  return on;
}

QuantConfig plain_rounding(QuantConfig config) {
  for (const Technique& technique : kTechniques) technique.switch_off(config);
  return config;
}

bool is_asked_for(const Technique& technique, const QuantConfig& config) {
  return std::ranges::find(config.given, technique.key) != config.given.end();
}

}  // namespace isthmus
