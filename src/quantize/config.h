// What the user wants of quantization: defaults, and rules for parts of the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diag.h"
#include "base/dtype.h"
#include "base/expected.h"
#include "ir/graph.h"
#include "stats/range.h"

namespace isthmus {

// The element type at the model's border.
enum class BorderType : std::uint8_t { kFloat, kInt8, kUint8 };

enum class BiasCorrection : std::uint8_t {
  kOff,
  kAnalytic,    // from the means of the input's channels
  kSequential,  // from the means of the quantized model's own values, layer after layer
};

// For every node that all given globs match. What is not given stays as it was.
struct QuantRule {
  std::string node;    // globs: of the name of its result,
  std::string module;  // of its module path,
  std::string op;      // of its op; empty matches everything
  std::optional<bool> in_float;
  std::optional<DType> storage;
  std::optional<Estimator> estimator;
  std::optional<bool> per_channel;
  std::optional<Range> range;  // of its result
  std::size_t line = 0;        // in the file
};

struct QuantConfig {
  DType storage = DType::kI8;  // of activations
  RangeOptions range;
  bool per_channel = true;  // weights; else one scale for each tensor
  double cut_bits = 1.0;    // what a reader may lose by sharing before a rescale is put in
  BorderType inputs = BorderType::kFloat;
  BorderType outputs = BorderType::kFloat;
  BiasCorrection bias_correction = BiasCorrection::kAnalytic;
  bool mse_weights = true;       // scales of weights by least squares, else by the largest number
  bool equalize = false;         // scales moved between layers, for weights with one scale
  std::size_t promote = 0;       // so many of the worst nodes are computed in float
  std::vector<QuantRule> rules;  // the last that matches wins, for each setting
  std::string file;              // of the rules, for messages
};

// Of a quant.toml. Unknown keys and wrong values are errors that name the line.
Expected<QuantConfig> read_config(std::string_view text, const std::string& path);

// What the rules make of one node.
struct NodeSettings {
  bool in_float = false;
  DType storage = DType::kI8;
  RangeOptions range;
  std::optional<Range> fixed_range;
  bool per_channel = true;
};
// By node. A rule that matches nothing is a warning that names its line.
std::vector<NodeSettings> settings_of(const Graph& graph, const QuantConfig& config, Diagnostics& diagnostics);

// '*' matches any run of characters, '?' any one.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace isthmus
