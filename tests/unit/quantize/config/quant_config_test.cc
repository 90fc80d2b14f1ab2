// quant.toml: what it sets, what its rules match, and how its mistakes are named.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "quantize/config/config.h"

namespace isthmus::quant_config_test {
namespace {

QuantConfig config(std::string_view text) {
  auto result = read_config(text, "quant.toml");
  if (result) return *std::move(result);
  ADD_FAILURE() << result.error().text();
  return {};
}

std::string mistake(std::string_view text) {
  const auto result = read_config(text, "quant.toml");
  return result ? std::string("no error") : result.error().message;
}

Graph sample() {
  auto graph = parse_graph(R"(graph
  input %x : f32[1,4]
  const %w : f32[4,4] #0000000000000001
  %stem = linear(%x, %w) : f32[1,4]  # net.py:3 linear in stem
  %act = clamp(%stem) min=0.0 : f32[1,4]  # net.py:4 relu in stem.act
  %fc_1 = linear(%act, %w) : f32[1,4]  # net.py:9 linear in blocks.0.fc
  %fc_2 = linear(%fc_1, %w) !float : f32[1,4]  # net.py:9 linear in blocks.1.fc
  return %fc_2
)");
  EXPECT_TRUE(graph.has_value()) << graph.error().text();
  return *std::move(graph);
}

TEST(QuantConfig, EmptyFilesGiveTheDefaults) {
  for (const std::string_view text : {"", "\n", "# nothing\n"}) {
    const QuantConfig read = config(text);
    const QuantConfig plain;
    EXPECT_EQ(read.storage, plain.storage);
    EXPECT_EQ(read.range.estimator, plain.range.estimator);
    EXPECT_EQ(read.range.percentile, plain.range.percentile);
    EXPECT_EQ(read.cut_bits, plain.cut_bits);
    EXPECT_EQ(read.bias_correction, plain.bias_correction);
    EXPECT_TRUE(read.rules.empty());
    EXPECT_EQ(read.file, "quant.toml");
  }
}

TEST(QuantConfig, EveryKey) {
  const QuantConfig read = config(R"(activations = "int16"
estimator = "moving-average"
percentile = 0.99
per_channel = false
cut_bits = 2
inputs = "uint8"
outputs = "int8"
bias_correction = "sequential"
weights = "minmax"
equalize = true
promote = 3
weight_rounding = "nearest"
[[rule]]
node = "fc_?"
module = "blocks.*"
op = "linear"
precision = "int16"
estimator = "entropy"
per_channel = true
range = [-4, 4.5]

[[rule]]
op = "c*"
precision = "float"
)");
  EXPECT_EQ(read.storage, DType::kI16);
  EXPECT_EQ(read.range.estimator, find_estimator("moving-average"));
  EXPECT_EQ(read.range.percentile, 0.99);
  EXPECT_FALSE(read.per_channel);
  EXPECT_EQ(read.cut_bits, 2.0);
  EXPECT_EQ(read.inputs, IoType::kUint8);
  EXPECT_EQ(read.outputs, IoType::kInt8);
  EXPECT_EQ(read.bias_correction, BiasCorrection::kSequential);
  EXPECT_FALSE(read.mse_weights);
  EXPECT_FALSE(read.rounds_together);
  EXPECT_TRUE(read.equalize);
  EXPECT_EQ(read.promote, 3U);
  ASSERT_EQ(read.rules.size(), 2U);
  const QuantRule& first = read.rules[0];
  EXPECT_EQ(first.node, "fc_?");
  EXPECT_EQ(first.module, "blocks.*");
  EXPECT_EQ(first.op, "linear");
  EXPECT_EQ(first.in_float, false);
  EXPECT_EQ(first.storage, DType::kI16);
  EXPECT_EQ(first.estimator, find_estimator("entropy"));
  EXPECT_EQ(first.per_channel, true);
  EXPECT_EQ(first.range, (Range{-4, 4.5}));
  EXPECT_EQ(first.line, 13U);
  EXPECT_EQ(read.rules[1].in_float, true);
  EXPECT_EQ(read.rules[1].storage, std::nullopt);
  EXPECT_EQ(read.rules[1].line, 22U);
}

TEST(QuantConfig, MistakesNameFileLineAndWhatIsAllowed) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"estimator = \"mes\"",
       "quant.toml:1: estimator = \"mes\": expected \"minmax\" or \"percentile\" or \"mse\" or \"moving-average\" or "
       "\"entropy\"; did you mean \"mse\"?"},
      {"\nestimatr = \"mse\"", "quant.toml:2: unknown key \"estimatr\"; did you mean \"estimator\"?"},
      {"[[rules]]\nnode = \"x\"", "quant.toml:1: unknown key \"rules\"; did you mean \"rule\"?"},
      {"activations = 8", "quant.toml:1: activations: expected \"int8\" or \"int16\""},
      {"activations = \"uint8\"",
       "quant.toml:1: activations = \"uint8\": expected \"int8\" or \"int16\"; did you mean \"int8\"?"},
      {"inputs = \"int16\"",
       "quant.toml:1: inputs = \"int16\": expected \"float\" or \"int8\" or \"uint8\"; did you mean \"int8\"?"},
      {"percentile = 99.99", "quant.toml:1: percentile: expected a number above 0 and at most 1"},
      {"percentile = nan", "quant.toml:1: percentile: expected a number above 0 and at most 1"},
      {"cut_bits = -inf", "quant.toml:1: cut_bits: expected a number from 0 to 16"},
      {"cut_bits = \"1\"", "quant.toml:1: cut_bits = \"1\": expected a number from 0 to 16"},
      {"per_channel = 1", "quant.toml:1: per_channel: expected true or false"},
      {"promote = -1", "quant.toml:1: promote: expected a number of nodes, 0 or more"},
      {"promote = 1.5", "quant.toml:1: promote: expected a number of nodes, 0 or more"},
      {"[rule]\nnode = \"x\"", "quant.toml:1: rules are an array of tables: begin each with [[rule]]"},
      {"rule = [1]", "quant.toml:1: rules are an array of tables: begin each with [[rule]]"},
      {"[[rule]]\nprecision = \"float\"", "quant.toml:1: a rule needs node, module or op to select nodes"},
      {"[[rule]]\nnode = \"x\"", "quant.toml:1: a rule needs a setting: precision, estimator, per_channel or range"},
      {"[[rule]]\nnode = \"\"", "quant.toml:2: node = \"\": expected a quoted glob of 1 to 200 characters"},
      {"[[rule]]\nop = \"conv2\"",
       "quant.toml:2: op = \"conv2\": expected an op from `isthmus targets --ops`; did you mean \"conv2d\"?"},
      {"[[rule]]\nnode = \"x\"\nrange = [1, 2]",
       "quant.toml:3: range: expected [min, max], two numbers with 0 between them"},
      {"[[rule]]\nnode = \"x\"\nrange = [0, 0]",
       "quant.toml:3: range: expected [min, max], two numbers with 0 between them"},
      {"[[rule]]\nnode = \"x\"\nrange = [-1, inf]",
       "quant.toml:3: range: expected [min, max], two numbers with 0 between them"},
      {"[[rule]]\nnode = \"x\"\npercentile = 0.5",
       "quant.toml:3: unknown key \"percentile\"; there are node, module, op, precision, estimator, per_channel, "
       "range"},
      {"[[rule]]\nnode = \"x\"\nprecision = \"int4\"",
       "quant.toml:3: precision = \"int4\": expected \"float\" or \"int8\" or \"int16\"; did you mean \"int8\"?"},
  };
  for (const auto& [text, message] : kCases) EXPECT_EQ(mistake(text), message);
  EXPECT_TRUE(mistake("frobnicate = 1")
                  .starts_with("quant.toml:1: unknown key \"frobnicate\"; there are rule, activations, estimator, "));
  // The library's own words for what is not a TOML differ between versions.
  EXPECT_TRUE(mistake("equalize = true\nequalize = true\n").starts_with("quant.toml:2: "));
  EXPECT_TRUE(mistake("a = [[[").starts_with("quant.toml:1: "));
  EXPECT_NE(mistake("a = \"\xff\""), "no error");
  EXPECT_NE(mistake(std::string(2000, '[')), "no error");
  EXPECT_NE(mistake("a = " + std::string(100000, '{')), "no error");
  EXPECT_NE(mistake(std::string((1 << 20) + 1, '\n')), "no error");
}

TEST(QuantConfig, TheFirstMistakeOfTheFileIsNamed) {
  EXPECT_TRUE(mistake("weights = 1\nactivations = 2\n").starts_with("quant.toml:1: weights"));
}

TEST(QuantConfig, NumberOfRulesIsLimited) {
  std::string text;
  for (int i = 0; i < 1001; ++i) text += "[[rule]]\nnode = \"x\"\nprecision = \"float\"\n";
  EXPECT_EQ(mistake(text), "quant.toml:1: 1001 rules, at most 1000");
}

TEST(QuantConfig, LastMatchWinsForEachSetting) {
  const QuantConfig read = config(R"(per_channel = false
[[rule]]
op = "linear"
precision = "int16"
estimator = "minmax"
[[rule]]
module = "blocks.*"
precision = "float"
[[rule]]
node = "fc_*"
op = "linear"
precision = "int8"
range = [-1.0, 1.0]
[[rule]]
node = "a?t"
per_channel = true
)");
  const Graph graph = sample();
  Diagnostics diagnostics;
  const auto settings = settings_of(graph, read, diagnostics);
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_TRUE(diagnostics.entries().empty());

  const NodeSettings& stem = settings[0];
  EXPECT_EQ(stem.storage, DType::kI16);
  EXPECT_TRUE(stem.is_storage_given);
  EXPECT_EQ(stem.range.estimator, find_estimator("minmax"));
  EXPECT_FALSE(stem.in_float);
  EXPECT_FALSE(stem.per_channel);
  EXPECT_FALSE(stem.fixed_range.has_value());

  const NodeSettings& act = settings[1];
  EXPECT_EQ(act.storage, DType::kI8);
  EXPECT_FALSE(act.is_storage_given);
  EXPECT_EQ(act.range.estimator, find_estimator("mse"));
  EXPECT_TRUE(act.per_channel);

  const NodeSettings& first = settings[2];
  EXPECT_FALSE(first.in_float);
  EXPECT_EQ(first.storage, DType::kI8);
  EXPECT_EQ(first.fixed_range, (Range{-1, 1}));
  EXPECT_EQ(first.range.estimator, find_estimator("minmax"));

  EXPECT_TRUE(settings[3].in_float) << "the model keeps it in float";
}

TEST(QuantConfig, RulesThatMatchNothingAreWarnings) {
  const QuantConfig read = config(R"([[rule]]
node = "conv_*"
op = "conv2d"
precision = "float"
[[rule]]
op = "linear"
precision = "float"
[[rule]]
module = "head"
per_channel = false
)");
  Diagnostics diagnostics;
  settings_of(sample(), read, diagnostics);
  ASSERT_EQ(diagnostics.entries().size(), 2U);
  EXPECT_EQ(diagnostics.entries()[0].severity, Severity::kWarning);
  EXPECT_EQ(diagnostics.entries()[0].code, "unused-rule");
  EXPECT_EQ(diagnostics.entries()[0].text,
            "quant.toml:1: no node of the model matches node = \"conv_*\", op = \"conv2d\"");
  EXPECT_EQ(diagnostics.entries()[1].text, "quant.toml:8: no node of the model matches module = \"head\"");
}

TEST(QuantConfig, Globs) {
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("**", "abc"));
  EXPECT_TRUE(matches_glob("a*c", "abc"));
  EXPECT_TRUE(matches_glob("a*c", "ac"));
  EXPECT_TRUE(matches_glob("*b*", "abc"));
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_TRUE(matches_glob("*ab", "aab"));
  EXPECT_TRUE(matches_glob("blocks.*.fc", "blocks.0.mlp.fc"));
  EXPECT_TRUE(matches_glob("a*b*c", "a_b_b_c"));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_FALSE(matches_glob("?", ""));
  EXPECT_FALSE(matches_glob("a", "ab"));
  EXPECT_FALSE(matches_glob("ab", "a"));
  EXPECT_FALSE(matches_glob("a*c", "abd"));
  EXPECT_FALSE(matches_glob("a??", "ab"));
  EXPECT_FALSE(matches_glob("blocks.*", "block.0"));
}

TEST(QuantConfig, GlobsTakeBoundedTime) {
  // Trying every split of the text between the stars would take longer than there is time.
  std::string glob;
  for (int i = 0; i < 100; ++i) glob += "a*";
  EXPECT_FALSE(matches_glob(glob + "b", std::string(10000, 'a')));
  EXPECT_TRUE(matches_glob(glob, std::string(10000, 'a')));
}

}  // namespace
}  // namespace isthmus::quant_config_test
