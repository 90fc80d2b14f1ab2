// Parameters that an archive gives: how they are read, what devices can hold of them, what planning makes of them.
#include "quantize/config/pins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "quantize/apply/weights.h"
#include "quantize/config/grid.h"
#include "quantize/prove/prove.h"
#include "report/explain.h"
#include "session/stages.h"
#include "support/calls.h"
#include "support/quantized_graphs.h"
#include "targets/registry.h"
#include "transforms/canonicalize/canonicalize.h"

namespace isthmus::pins_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const TargetDesc& xnnpack() { return *find_target("xnnpack"); }
const TargetDesc& ethos_u() { return *find_target("ethos-u85-256"); }

std::string quantize_call(std::string_view result, std::string_view input, double scale, int zero_point,
                          std::string_view shape = "[2,4]") {
  return "%" + std::string(result) + ".q = foreign(\"quantized_decomposed.quantize_per_tensor.default\", input=%" +
         std::string(input) + ", scale=" + std::to_string(scale) + ", zero_point=" + std::to_string(zero_point) +
         ", quant_min=-128, quant_max=127, dtype=i8) : i8" + std::string(shape) + "\n";
}
std::string dequantize_call(std::string_view result, std::string_view input, double scale, int zero_point,
                            std::string_view shape = "[2,4]") {
  return "%" + std::string(result) + " = foreign(\"quantized_decomposed.dequantize_per_tensor.default\", input=%" +
         std::string(input) + ", scale=" + std::to_string(scale) + ", zero_point=" + std::to_string(zero_point) +
         ", quant_min=-128, quant_max=127, dtype=i8) : f32" + std::string(shape) + "\n";
}
std::string pair(std::string_view result, std::string_view input, double scale, int zero_point,
                 std::string_view shape = "[2,4]") {
  return quantize_call(result, input, scale, zero_point, shape) +
         dequantize_call(result, std::string(result) + ".q", scale, zero_point, shape);
}

TEST(PinsOfArchives, APairIsOneNode) {
  EXPECT_THAT(test::canonical("input %x : f32[2,4]", pair("y", "x", 0.5, 3)),
              HasSubstr("fake_quantize(%0) scale=0.5 zero_point=3 : f32[2,4]"));
  EXPECT_THAT(test::canonical("input %x : f32[2,4]", pair("y", "x", 0.5, 3)), Not(HasSubstr("dequantize")));
  EXPECT_THAT(test::canonical("input %x : f32[2,4]",
                              "%y = foreign(\"aten.fake_quantize_per_tensor_affine.default\", self=%x, scale=0.25, "
                              "zero_point=7, quant_min=0, quant_max=255) : f32[2,4]"),
              HasSubstr("fake_quantize(%0) scale=0.25 zero_point=7 min=0 max=255 dtype=u8"));
  EXPECT_THAT(
      test::canonical("input %x : f32[2,4]\nconst %s : f32[1] = [0.25]\nconst %z : i32[1] = [7]",
                      "%y = foreign(\"aten.fake_quantize_per_tensor_affine.tensor_qparams\", self=%x, scale=%s, "
                      "zero_point=%z, quant_min=-128, quant_max=127) : f32[2,4]"),
      HasSubstr("fake_quantize(%0) scale=0.25 zero_point=7 : f32[2,4]"));
  const std::string tensors = ", scale=%s, zero_point=%z, quant_min=%l, quant_max=%m, dtype=i8) : ";
  EXPECT_THAT(
      test::canonical("input %x : f32[2,4]\nconst %s : f32[1] = [0.25]\nconst %z : i32[1] = [7]\n"
                      "const %l : i64[] = [-127]\nconst %m : i64[] = [127]",
                      "%q = foreign(\"quantized_decomposed.quantize_per_tensor.tensor2\", input=%x" + tensors +
                          "i8[2,4]\n%y = foreign(\"quantized_decomposed.dequantize_per_tensor.tensor2\", input=%q" +
                          tensors + "f32[2,4]"),
      HasSubstr("fake_quantize(%0) scale=0.25 zero_point=7 min=-127 : f32[2,4]"));
}

TEST(PinsOfArchives, PairsWithDifferentParametersAreNotMerged) {
  const std::string other = quantize_call("y", "x", 0.5, 3) + dequantize_call("y", "y.q", 0.25, 3);
  EXPECT_THAT(test::canonical("input %x : f32[2,4]", other), Not(HasSubstr("fake_quantize")));
}

TEST(PinsOfArchives, StandAtTheProducerOfTheValue) {
  const std::string moved = "%m = permute(%x) axes=[1,0] : f32[4,2]\n" + pair("y", "m", 0.5, 3, "[4,2]");
  const std::string text = test::canonical("input %x : f32[2,4]", moved);
  EXPECT_LT(text.find("fake_quantize"), text.find("permute")) << text;
  const std::string twice =
      pair("a", "x", 0.5, 3) + "%m = permute(%a) axes=[1,0] : f32[4,2]\n" + pair("y", "m", 0.5, 3, "[4,2]");
  const std::string once = test::canonical("input %x : f32[2,4]", twice);
  EXPECT_EQ(once.find("fake_quantize"), once.rfind("fake_quantize")) << once;
  // Quantized values that move are numbers that move.
  const std::string quantized = quantize_call("y", "x", 0.5, 3) + "%m = permute(%y.q) axes=[1,0] : i8[4,2]\n" +
                                dequantize_call("y", "m", 0.5, 3, "[4,2]");
  EXPECT_THAT(test::canonical("input %x : f32[2,4]", quantized), HasSubstr("fake_quantize"));
}

TEST(PinsOfArchives, TheyComputeWhatThePairComputes) {
  const std::vector<Tensor> x{test::floats({2, 4}, {0.25F, 0.75F, -100, 100, 1, 0.26F, -0.26F, 0})};
  const std::vector<Tensor> found = test::computed("input %x : f32[2,4]", pair("y", "x", 0.5, 3), x);
  EXPECT_THAT(test::numbers<float>(found[0]), ElementsAre(0, 1, -65.5F, 62, 1, 0.5F, -0.5F, 0));
}

TEST(PinsOfArchives, AsymmetricWeightsAreReported) {
  for (const int zero_point : {0, 3}) {
    const Graph graph = test::graph_of(
        "graph\n  input %x : f32[1,2]\n  const %c : i8[2,2] = [1,2,3,4]\n  const %s : f32[] = [0.5]\n  const %z : "
        "i64[] = "
        "[" +
        std::to_string(zero_point) +
        "]\n  %w = dequantize(%c, %s, %z) : f32[2,2]\n  %y = linear(%x, %w) : f32[1,2]\n  return %y\n");
    Diagnostics diagnostics;
    const auto result = canonicalize(graph, diagnostics);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(diagnostics.entries().size(), zero_point == 0 ? 0U : 1U);
    for (const Diagnostic& entry : diagnostics.entries()) EXPECT_EQ(entry.code, "weight-zero-point");
  }
}

// What a device makes of one pin, as text; the codes of warnings behind it.
std::string settled(std::string_view attributes, const TargetDesc& target) {
  const Graph graph = test::graph_of("graph\n  input %x : f32[1,4]\n  %y = fake_quantize(%x) " +
                                     std::string(attributes) + " : f32[1,4]\n  return %y\n");
  Diagnostics diagnostics;
  const auto result = settle_pins(graph, target, diagnostics);
  if (!result) return result.error().text();
  std::string text = print(*result);
  for (const Diagnostic& entry : diagnostics.entries()) text += entry.code + "\n";
  return text;
}

// Quantized and dequantized with parameters that are chosen as the model runs; what is between the two.
std::string dynamic_pair(std::string_view moved, std::string_view shape) {
  const std::string rest = ", scale=%s, zero_point=%z, quant_min=-128, quant_max=127, dtype=i8) : ";
  return "%s, %z = foreign(\"quantized_decomposed.choose_qparams.tensor\", input=%x, quant_min=-128, quant_max=127, "
         "eps=0.001, dtype=i8) : f64[1], i64[1]\n"
         "%q = foreign(\"quantized_decomposed.quantize_per_tensor.tensor\", input=%x" +
         rest + "i8[2,4]\n" + std::string(moved) +
         "%y = foreign(\"quantized_decomposed.dequantize_per_tensor.tensor\", input=%" + (moved.empty() ? "q" : "m") +
         rest + "f32" + std::string(shape);
}

TEST(PinsOfArchives, DynamicQuantizationIsOneNode) {
  const std::string here = test::canonical("input %x : f32[2,4]", dynamic_pair("", "[2,4]"));
  EXPECT_THAT(here, HasSubstr("dynamic_quantize(%0) eps=0.001 : f32[2,4]"));
  EXPECT_THAT(here, Not(HasSubstr("choose_scale")));
  const std::string moved =
      test::canonical("input %x : f32[2,4]", dynamic_pair("%m = permute(%q) axes=[1,0] : i8[4,2]\n", "[4,2]"));
  EXPECT_LT(moved.find("dynamic_quantize"), moved.find("permute")) << moved;
}

TEST(PinsOfArchives, ParametersOfOtherNumbersAreNoPair) {
  std::string text = dynamic_pair("", "[2,4]");
  text.insert(text.find("%q = "), "%o = neg(%x) : f32[2,4]\n");
  text.replace(text.find("input=%x", text.find("%q = ")), 8, "input=%o");
  EXPECT_THAT(test::canonical("input %x : f32[2,4]", text), Not(HasSubstr("dynamic_quantize")));
}

constexpr std::string_view kDynamic = R"(graph
  input %x : f32[2,4]
  const %w : f32[3,4] = [1,2,3,4,5,6,7,8,9,1,2,3]
  const %b : f32[3] = [1,2,3]
  %d = dynamic_quantize(%x) eps=0.001 : f32[2,4]
  %r = reshape(%d) shape=[1,2,4] : f32[1,2,4]
  %y = linear(%r, %w, %b) : f32[1,2,3]  # net.py:3 linear
  %z = linear(%y, %v, %b) : f32[1,2,3]  # net.py:4 linear
  return %z
)";
std::string dynamic_model() {
  std::string text(kDynamic);
  return text.replace(text.find("  const %b"), 0, "  const %v : f32[3,3] = [1,2,3,4,5,6,7,8,9]\n");
}

TEST(PinsOnDevices, UnsignedValuesAreShifted) {
  EXPECT_THAT(settled("scale=0.5 zero_point=130 min=0 max=255 dtype=u8", xnnpack()),
              HasSubstr("fake_quantize(%x) scale=0.5 zero_point=2 : f32[1,4]"));
}

TEST(PinsOnDevices, NarrowerRangeIsAClamp) {
  EXPECT_THAT(settled("scale=0.5 zero_point=0 min=-8 max=7", xnnpack()), HasSubstr("clamp(%x) min=-4.0 max=3.5"));
  EXPECT_THAT(settled("scale=0.5 zero_point=0 min=-127", xnnpack()), Not(HasSubstr("clamp")));
}

TEST(PinsOnDevices, UnsupportedParametersAreDroppedWithAMessage) {
  EXPECT_THAT(settled("scale=0.5 min=-32768 max=32767 dtype=i16", xnnpack()), HasSubstr("pin-type"));
  EXPECT_THAT(settled("scale=0.5 min=-32767 max=32767 dtype=i16", ethos_u()), HasSubstr("dtype=i16"));
  EXPECT_THAT(settled("scale=0.5 zero_point=3 min=-32767 max=32767 dtype=i16", ethos_u()), HasSubstr("pin-zero-point"));
  EXPECT_THAT(settled("scale=0.5 zero_point=300", xnnpack()), HasSubstr("pin-zero-point"));
  EXPECT_THAT(settled("scale=1e-40", xnnpack()), HasSubstr("pin-scale"));
  EXPECT_THAT(settled("scale=1e-40", xnnpack()), Not(HasSubstr("fake_quantize")));
}

struct Planned {
  QuantizedModel model;
  Diagnostics diagnostics;

  const Group& group(std::string_view name) const { return *model.plan.group(*model.model.find(name)); }
  bool says(std::string_view code) const {
    return std::ranges::any_of(diagnostics.entries(), [&](const Diagnostic& entry) { return entry.code == code; });
  }
  std::size_t count(Op op) const {
    return static_cast<std::size_t>(std::ranges::count(model.quantized.graph.nodes(), op, &Node::op));
  }
};
Planned planned(std::string_view text, const TargetDesc& target) {
  Planned result;
  Prepared prepared{test::graph_of(text), {}, {}, {}};
  auto model = quantize(prepared, target, nullptr, {}, result.diagnostics);
  CHECK(model.has_value(), model ? "" : model.error().text());
  result.model = *std::move(model);
  return result;
}

constexpr std::string_view kJoin = R"(graph
  input %x : f32[1,4]
  input %y : f32[1,4]
  %a = fake_quantize(%x) scale=0.5 zero_point=3 : f32[1,4]
  %b = fake_quantize(%y) scale=0.25 zero_point=-7 : f32[1,4]
  %c = cat(%a, %b) axis=1 : f32[1,8]  # net.py:3 cat
  %d = fake_quantize(%c) scale=0.5 zero_point=3 : f32[1,8]
  return %d
)";

TEST(PinsInPlans, ParametersAreThoseOfTheArchive) {
  for (const TargetDesc* target : {&xnnpack(), &ethos_u()}) {
    const Planned found = planned(kJoin, *target);
    EXPECT_TRUE(found.model.plan.has_ranges);
    EXPECT_EQ(found.group("a").quant, (Quant{{0.5F}, 3, -1}));
    EXPECT_EQ(found.group("b").quant, (Quant{{0.25F}, -7, -1}));
    EXPECT_EQ(found.group("c").quant, (Quant{{0.5F}, 3, -1}));
    EXPECT_EQ(found.group("d").quant, (Quant{{0.5F}, 3, -1}));
    ASSERT_EQ(found.model.plan.cuts.size(), 1U);
    EXPECT_EQ(found.model.plan.cuts[0].cause, CutCause::kPins);
    EXPECT_EQ(found.count(Op::kRescale), 1U);
    ASSERT_TRUE(found.says("pins-disagree"));
    EXPECT_THAT(found.diagnostics.entries()[0].text, HasSubstr("cat %c (net.py:3 cat)"));
    EXPECT_THAT(found.diagnostics.entries()[0].text, HasSubstr("scale 0.25 zero point -7"));
  }
}

// No pin gives the join parameters: it needs some that hold what both its inputs can be.
TEST(PinsInPlans, ConcatWithoutParametersCoversAllInputs) {
  std::string text(kJoin);
  text.erase(text.find("  %d ="), text.find("  return") - text.find("  %d ="));
  text.replace(text.find("return %d"), 9, "return %c");
  const Planned found = planned(text, ethos_u());
  EXPECT_TRUE(found.model.plan.has_ranges);
  EXPECT_EQ(found.group("c").quant, (Quant{{0.5F}, 3, -1})) << "those of %a hold all of %b";
  EXPECT_FALSE(found.says(kNotPinned));
}

TEST(PinsInPlans, WhatHasNoParametersNeedsData) {
  const Planned found = planned(R"(graph
  input %x : f32[1,4]
  %a = fake_quantize(%x) scale=0.5 : f32[1,4]
  %b = add(%a, %a) : f32[1,4]
  return %b
)",
                                ethos_u());
  EXPECT_FALSE(found.model.plan.has_ranges);
  EXPECT_TRUE(found.says(kNotPinned));
}

TEST(PinsInPlans, FloatNodesOfTheArchiveStayInFloatWhereSupported) {
  const Planned found = planned(R"(graph
  input %x : f32[1,4]
  %a = fake_quantize(%x) scale=0.5 : f32[1,4]
  %b = add(%a, %a) : f32[1,4]
  %c = fake_quantize(%b) scale=1 : f32[1,4]
  %d = add(%c, %c) : f32[1,4]
  return %d
)",
                                xnnpack());
  const auto precision = [&](std::string_view name) {
    const Value& value = found.model.model[*found.model.model.find(name)];
    return found.model.plan.precision[value.index];
  };
  EXPECT_EQ(precision("b"), Precision::kQuantized);
  EXPECT_EQ(precision("d"), Precision::kFloat);
  EXPECT_TRUE(found.model.plan.has_ranges);
}

TEST(PinsInPlans, LayersAfterDynamicQuantizationQuantizePerRow) {
  const Planned found = planned(dynamic_model(), xnnpack());
  const auto precision = [&](std::string_view name) {
    return found.model.plan.precision[found.model.model[*found.model.model.find(name)].index];
  };
  EXPECT_TRUE(found.model.plan.has_ranges);
  EXPECT_EQ(precision("y"), Precision::kRows);
  EXPECT_EQ(precision("z"), Precision::kFloat) << "the archive left it in float";
  EXPECT_EQ(found.count(Op::kDynamicQuantize), 0U);
  EXPECT_TRUE(found.diagnostics.entries().empty());
}

TEST(PinsInPlans, DynamicQuantizationBecomesStaticWithoutRowSupport) {
  const Planned found = planned(dynamic_model(), ethos_u());
  EXPECT_FALSE(found.model.plan.has_ranges);
  EXPECT_TRUE(found.says("dynamic-scales"));
  EXPECT_FALSE(found.says(kNotPinned));
  EXPECT_EQ(found.count(Op::kDynamicQuantize), 0U);
}

TEST(PinsInPlans, ScalesOfChannelsAreNotUsed) {
  const std::string_view text = R"(graph
  input %x : f32[2,4]
  const %s : f32[4] = [0.1,0.2,0.3,0.4]
  const %o : i64[4] = [1,2,3,4]
  %q = quantize(%x, %s, %o) axis=1 : i8[2,4]
  %d = dequantize(%q, %s, %o) axis=1 : f32[2,4]
  %y = tanh(%d) : f32[2,4]
  return %y
)";
  for (const TargetDesc* target : {&xnnpack(), &ethos_u()}) {
    const Planned found = planned(text, *target);
    EXPECT_TRUE(found.says("channel-scales")) << target->name;
    EXPECT_EQ(std::ranges::count(found.model.model.nodes(), Op::kQuantize, &Node::op), 0) << target->name;
  }
}

// A bias follows from its input, which the archive pins, also where other ranges are not known.
TEST(PinsInPlans, ALayerBetweenPinnedAndUnknownIsProven) {
  const Planned found = planned(R"(graph
  input %x : f32[1,2]
  const %w : f32[2,2] = [1,2,3,4]
  const %b : f32[2] = [1,2]
  %a = fake_quantize(%x) scale=0.5 zero_point=3 : f32[1,2]
  %y = linear(%a, %w, %b) : f32[1,2]
  return %y
)",
                                ethos_u());
  EXPECT_FALSE(found.model.plan.has_ranges);
  EXPECT_TRUE(found.says(kNotPinned));
}

TEST(PinsInPlans, RatiosThatTheDeviceLacksWidenThem) {
  const Planned found = planned(R"(graph
  input %x : f32[1,4]
  input %y : f32[1,4]
  %a = fake_quantize(%x) scale=0.0001 : f32[1,4]
  %b = fake_quantize(%y) scale=1 : f32[1,4]
  %c = add(%a, %b) : f32[1,4]
  %d = fake_quantize(%c) scale=1 : f32[1,4]
  return %d
)",
                                xnnpack());
  EXPECT_TRUE(found.says("illegal-ratio"));
  EXPECT_EQ(found.group("b").quant.scale(), 1.0F);
  EXPECT_GE(found.group("a").quant.scale(), 0x1p-10F);
}

// Breaks what the proof is about, and nothing else: every type of the group is another.
TEST(PinsInProofs, OtherParametersAreRefused) {
  const Planned found = planned(kJoin, xnnpack());
  const auto proven = [&](const Quantized& quantized) {
    return prove(quantized, xnnpack(), found.model.model, QuantConfig{});
  };
  EXPECT_TRUE(proven(found.model.quantized));
  const Graph& graph = found.model.quantized.graph;
  std::size_t refused = 0;
  for (const auto& [scale, step] : {std::pair(1 + 0x1p-22F, 0), {1.0F, 1}, {2.0F, 0}}) {
    for (const Quant& before : {Quant{{0.5F}, 3, -1}, Quant{{0.25F}, -7, -1}}) {
      Quantized broken = found.model.quantized;
      for (std::uint32_t i = 0; i < graph.values().size(); ++i) {
        if (graph.type(ValueId{i}).quant != before) continue;
        broken.graph.set_quant(ValueId{i}, {{before.scale() * scale}, before.zero_point + step, -1});
      }
      const auto result = proven(broken);
      ASSERT_FALSE(result) << scale << " " << step;
      EXPECT_THAT(result.error().text(), HasSubstr("of the model asks for i8 scale"));
      ++refused;
    }
  }
  EXPECT_EQ(refused, 6U);
}

TEST(PinsInReports, ExplainNamesThem) {
  const Planned found = planned(kJoin, xnnpack());
  const Prepared prepared{found.model.model, {}, {}, {}};
  const Outcome outcome = outcome_of(xnnpack(), prepared, &found.model);
  const HostCauses host(outcome);
  const std::string text = to_text(explain(outcome, host, *found.model.model.find("c"), {}));
  EXPECT_THAT(text, HasSubstr("0.5 zero point 3"));
  EXPECT_THAT(text, HasSubstr("pinned by the archive: %"));
  EXPECT_THAT(text, HasSubstr("requantized: %b for cat %c (net.py:3 cat)"));
}

TEST(Grids, NumbersOnTheGridLoseNothing) {
  const float scale = 0.0123F;
  std::vector<float> numbers;
  for (const int q : {90, -31, 7, 0, 55, -89, 1, 12, -64, 33}) numbers.push_back(static_cast<float>(q) * scale);
  EXPECT_EQ(grid_of(numbers, 127), scale);
  numbers.push_back(0.5F * scale);
  EXPECT_FALSE(grid_of(numbers, 127));
  EXPECT_FALSE(grid_of(std::vector<float>{0, 0}, 127));
  EXPECT_FALSE(grid_of(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}, 127));
  EXPECT_FALSE(grid_of(std::vector<float>{1, std::numeric_limits<float>::infinity()}, 127));
}

TEST(Grids, WeightsOfAnArchiveKeepTheirInt8Values) {
  const std::vector<int> wanted{90, -31, 7, 0, 55, -89, 1, 12, -64, 33, -128, 5, 77, 2, -3, 11};
  std::vector<float> numbers;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    numbers.push_back(static_cast<float>(wanted[i]) * (i < 8 ? 0.0123F : 0.7F));
  }
  const Node node{Op::kLinear, NoAttrs{}, {}, {}, {}, false};
  const Tensor weights = test::floats({2, 8}, numbers);
  const QuantizedLayer layer = quantize_layer(node, weights.view(), nullptr, 0.5F, {});
  EXPECT_THAT(layer.weight_quant.scales, ElementsAre(0.0123F, 0.7F));
  const Tensor quantized = Tensor::from(layer.weights);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(quantized.data<std::int8_t>()[i], std::max(wanted[i], -127));
}

}  // namespace
}  // namespace isthmus::pins_test
