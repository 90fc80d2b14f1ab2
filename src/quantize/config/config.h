// What the user wants of quantization: defaults, and rules for parts of the model.
//
// A quant.toml. Every key may be left out; what stands here is what is then taken, except in the rule.
//
//   activations = "int8"          # or "int16"
//   estimator = "mse"             # how ranges come from statistics: a row of stats/range.cc
//   percentile = 0.9999           # for "percentile": this share of the numbers lies inside
//   per_channel = true            # weights have a scale for each channel; false: one for each tensor
//   cut_bits = 1.0                # a reader that loses more bits by sharing gets a rescale; 0 to 16
//   inputs = "float"              # of the model: "float", "int8" or "uint8"
//   outputs = "float"
//   bias_correction = "analytic"  # or "off", "sequential"
//   weights = "mse"               # scales of weights by least squares; "minmax": by the largest number
//   weight_rounding = "together"  # so that errors of weights cancel, by second moments of what layers read; "nearest"
//   equalize = true               # channels of one range, by factors that weights take and give back
//   front = 0.075                 # share of the model's products that its first layers may compute in float, or of 16
//                                 # bits where the target has no float
//   wide = true                   # 16 bits for what only sums of 32 bits read, where the target has both
//   widen = 0.1                   # share of the model's cost that 16 bits, or float where the target has it, may add
//                                 # where they gain the outputs most
//   promote = 0                   # number of worst nodes that are computed in float, or in 16 bits
//
//   [[rule]]                      # for the nodes that all of its globs match; as many rules as you like
//   node = "conv_*"               # of the name of its result, without the %; '*' is any run of characters, '?' any one
//   module = "blocks.*"           # of its module path
//   op = "conv2d"                 # of its op, as in `isthmus targets --ops`
//   precision = "float"           # or "int8", "int16"
//   estimator = "minmax"
//   per_channel = false
//   range = [-4.0, 4.0]           # of its result, whatever was seen; contains 0
//
// Where several rules match a node the last one wins, for each setting by itself.
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

// The element type at the model's inputs and outputs.
enum class IoType : std::uint8_t { kFloat, kInt8, kUint8 };

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
  IoType inputs = IoType::kFloat;
  IoType outputs = IoType::kFloat;
  BiasCorrection bias_correction = BiasCorrection::kAnalytic;
  bool mse_weights = true;      // scales of weights by least squares, else by the largest number
  bool rounds_together = true;  // weights so that their errors cancel, by what the samples say of the layer's inputs
  bool equalize = true;         // channels of one range, by factors that weights take and give back
  // Rounding in the first layers goes through all others. As long as their products are no more than this share of all,
  // and their weights next to nothing, they stay in float where the target has it, or read 16 bits.
  double front = 0.075;
  bool wide = true;                // int16 values where they cost next to nothing
  double widen = 0.1;              // share of the model's cost that more values of 16 bits or in float may add
  std::size_t promote = 0;         // number of worst nodes that are computed in float, or in 16 bits
  std::vector<QuantRule> rules;    // the last that matches wins, for each setting
  std::string file;                // of the rules, for messages
  std::vector<std::string> given;  // the keys that the user set, in files and on the command line
  std::string text;                // all that the user set, as TOML
};

// Of a quant.toml; the path is for messages alone. Unknown keys and wrong values are errors that name the line, what is
// allowed, and what was probably meant.
Expected<QuantConfig> read_config(std::string_view text, const std::string& path);
// The same, over what is there already.
Expected<QuantConfig> read_config(std::string_view text, const std::string& path, QuantConfig config);

// What a key takes, in the words of the file; the key is one that has choices.
std::vector<std::string_view> config_choices(std::string_view key);

// What the rules make of one node.
struct NodeSettings {
  bool in_float = false;
  DType storage = DType::kI8;
  bool is_storage_given = false;  // by a rule, or by the model's own parameters
  RangeOptions range;
  std::optional<Range> fixed_range;
  bool per_channel = true;
};
// By node. A rule that matches nothing is a warning that names its line. No rule brings nodes into integers that the
// model keeps in float.
std::vector<NodeSettings> settings_of(const Graph& graph, const QuantConfig& config, Diagnostics& diagnostics);

// '*' matches any run of characters, '?' any one. Never takes longer than the product of both lengths.
bool matches_glob(std::string_view glob, std::string_view text);

}  // namespace isthmus
