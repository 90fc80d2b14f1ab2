// A table of options that quantize, and what each demands of the target.
#include "cli/contradictions.h"

#include <fmt/format.h>

#include <string_view>

#include "targets/registry.h"

namespace isthmus {
namespace {

struct QuantFlag {
  std::string_view name;
  bool (*is_given)(const QuantOptions& options);
};
constexpr QuantFlag kQuantFlags[] = {
    {"--io", [](const QuantOptions& options) { return !options.io.empty() && options.io != "float"; }},
    {"--activations", [](const QuantOptions& options) { return !options.activations.empty(); }},
    {"--estimator", [](const QuantOptions& options) { return !options.estimator.empty(); }},
    {"--bias-correction", [](const QuantOptions& options) { return !options.bias_correction.empty(); }},
    {"--weights", [](const QuantOptions& options) { return !options.weights.empty(); }},
    {"--per-tensor", [](const QuantOptions& options) { return options.per_tensor; }},
    {"--no-equalize", [](const QuantOptions& options) { return options.no_equalize; }},
    {"--float-stem", [](const QuantOptions& options) { return options.front.has_value(); }},
    {"--promote", [](const QuantOptions& options) { return options.promote.value_or(0) > 0; }},
};

}  // namespace

std::optional<std::string> contradiction_of(const SessionFlags& flags) {
  const TargetDesc& target = *find_target(flags.model.target);
  if (flags.is_float) {
    for (const QuantFlag& row : kQuantFlags) {
      if (!row.is_given(flags.quant)) continue;
      return fmt::format("{} and --float exclude each other: a float model is not quantized", row.name);
    }
    if (!target.integers.has_float) {
      return fmt::format("--float: {} computes only in integers; remove --float, or compile for xnnpack", target.name);
    }
  }
  if (flags.quant.activations == "int16" && target.integers.wide_reads == nullptr) {
    return fmt::format("--activations int16: {} has no 16-bit integers, only int8 and float", target.name);
  }
  for (const FinishingStep* step : all_finishing_steps()) {
    for (const FinishOption& option : step->options) {
      if (step == target.finish || setting_of(flags.finish, option).empty()) continue;
      return fmt::format("{} is an option of {}, which is not used for {}", option.name, step->name, target.name);
    }
  }
  return std::nullopt;
}

}  // namespace isthmus
