// The options of commands that quantize.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/expected.h"
#include "quantize/config/config.h"

namespace isthmus {

// What is given here goes before what the file says.
struct QuantOptions {
  std::string file;
  std::string io;
  std::string activations;
  std::string estimator;
  std::string bias_correction;
  std::string weights;
  bool per_tensor = false;
  bool no_equalize = false;
  std::optional<double> front;
  std::optional<std::size_t> promote;
};

void add_quant_options(CLI::App& command, QuantOptions& options);
Expected<QuantConfig> config_of(const QuantOptions& options);

}  // namespace isthmus
