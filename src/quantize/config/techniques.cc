// The table of techniques.
#include "quantize/config/techniques.h"

#include <algorithm>

namespace isthmus {
namespace {

constexpr Technique kTechniques[] = {
    {"the estimator of ranges", "estimator", "estimator = \"minmax\"",
     [](const QuantConfig& config) { return config.range.estimator != minmax_estimator(); },
     [](QuantConfig& config) { config.range.estimator = minmax_estimator(); }},
    {"weights by least squares", "weights", "weights = \"minmax\"",
     [](const QuantConfig& config) { return config.mse_weights; },
     [](QuantConfig& config) { config.mse_weights = false; }},
    {"weights rounded together", "weight_rounding", "weight_rounding = \"nearest\"",
     [](const QuantConfig& config) { return config.rounds_together; },
     [](QuantConfig& config) { config.rounds_together = false; }},
    {"bias correction", "bias_correction", "bias_correction = \"off\"",
     [](const QuantConfig& config) { return config.bias_correction != BiasCorrection::kOff; },
     [](QuantConfig& config) { config.bias_correction = BiasCorrection::kOff; }},
    {"equalization of channels", "equalize", "equalize = false",
     [](const QuantConfig& config) { return config.equalize; }, [](QuantConfig& config) { config.equalize = false; }},
    {"more precision for the first layers", "front", "front = 0",
     [](const QuantConfig& config) { return config.front > 0; }, [](QuantConfig& config) { config.front = 0; }, 0.3,
     true},
    {"16 bits for what only sums read", "wide", "wide = false", [](const QuantConfig& config) { return config.wide; },
     [](QuantConfig& config) { config.wide = false; }, 0, true},
    {"more precision where the outputs gain most", "widen", "widen = 0",
     [](const QuantConfig& config) { return config.widen > 0; }, [](QuantConfig& config) { config.widen = 0; }, 0,
     true},
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
