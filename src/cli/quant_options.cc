// A quant.toml and the switches that overrule it, as one text in the file's own words.
#include "cli/quant_options.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "cli/common_flags.h"
#include "cli/usage.h"

namespace isthmus {

namespace {

CLI::Validator choice_of(std::string_view key) {
  const std::vector<std::string_view> words = config_choices(key);
  return one_of({words.begin(), words.end()});
}

}  // namespace

void add_quant_options(CLI::App& command, QuantOptions& options) {
  command.add_option("--config", options.file, "a quant.toml with defaults, and rules for parts of the model");
  command.add_option("--io", options.io, "the element type of inputs and outputs")->check(choice_of("inputs"));
  command.add_option("--activations", options.activations, "the type of activations, on targets that have both")
      ->check(choice_of("activations"));
  command.add_option("--estimator", options.estimator, "the range estimator")->check(choice_of("estimator"));
  command.add_option("--bias-correction", options.bias_correction, "correct biases for the rounding of weights")
      ->check(choice_of("bias_correction"));
  command.add_option("--weights", options.weights, "how weight scales are chosen")->check(choice_of("weights"));
  command.add_flag("--per-tensor", options.per_tensor, "one scale per weight tensor instead of one per channel");
  command.add_flag("--no-equalize", options.no_equalize, "do not equalize the ranges of channels");
  command
      .add_option("--float-stem", options.front,
                  "compute the first layers in float, or in 16 bits, up to this share of all multiplications")
      ->check(CLI::Range(0.0, 1.0));
  add_hidden_alias(command, "--front", options.front)->check(CLI::Range(0.0, 1.0));
  command
      .add_option(
          "--promote", options.promote,
          "compute this many nodes in float, or in 16 bits on targets without float; chosen by the gain at the outputs")
      ->check(at_least(0));
}

Expected<QuantConfig> config_of(const QuantOptions& options) {
  QuantConfig config;
  if (!options.file.empty()) {
    const Blob file = TRY(map_file(options.file));
    config = TRY(read_config(file.text(), options.file));
  }
  std::string text;
  const auto overrule = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{} = \"{}\"\n", key, value);
  };
  overrule("inputs", options.io);
  overrule("outputs", options.io);
  overrule("activations", options.activations);
  overrule("estimator", options.estimator);
  overrule("bias_correction", options.bias_correction);
  overrule("weights", options.weights);
  if (options.per_tensor) text += "per_channel = false\n";
  if (options.no_equalize) text += "equalize = false\n";
  if (options.front) text += fmt::format("front = {:f}\n", *options.front);
  if (options.promote) text += fmt::format("promote = {}\n", *options.promote);
  if (text.empty()) return config;
  return read_config(text, "the command line", std::move(config));
}

}  // namespace isthmus
