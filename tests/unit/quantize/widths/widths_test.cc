// Which values have int16 values, each rule on the smallest graph that shows it.
#include "quantize/widths/widths.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "interpret/interpreter.h"
#include "quantize/apply/apply.h"
#include "quantize/plan/precision.h"
#include "quantize/prove/prove.h"
#include "support/quantized_graphs.h"
#include "support/quantized_tensors.h"
#include "support/random_quant_model.h"
#include "targets/registry.h"

namespace isthmus::widths_test {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::set<std::string> wide_values(const Graph& graph, std::string_view target_name, const QuantConfig& config,
                                  const Statistics* statistics) {
  const TargetDesc& target = *find_target(target_name);
  Diagnostics diagnostics;
  const auto settings = settings_of(graph, config, diagnostics);
  const Precisions precisions = choose_precisions(graph, target, settings, config);
  const std::vector<DType> asked = asked_widths(graph, settings, config);
  const Pins pins;
  Ranges ranges(graph, statistics, settings, asked, pins);
  const auto widths = choose_widths(graph, target, precisions.of_node, settings, config, ranges);
  EXPECT_TRUE(widths) << widths.error().text();
  std::set<std::string> result;
  for (std::uint32_t i = 0; i < widths->of_value.size(); ++i) {
    const bool is_wide = widths->of_value[i] == DType::kI16 && graph.values()[i].kind != ValueKind::kConstant;
    if (is_wide) result.insert(graph.values()[i].name);
  }
  return result;
}
std::set<std::string> wide_values(std::string_view text, std::string_view target, const QuantConfig& config = {}) {
  return wide_values(test::graph_of(text), target, config, nullptr);
}
QuantConfig without_front() {
  QuantConfig config;
  config.front = 0;
  return config;
}

// Two steps of a residual stream: products write into it, a norm and sums read it.
constexpr std::string_view kStream = R"(graph
  const %w : f32[8,8] #0123456789abcdef
  const %g : f32[8] #0123456789abcdef
  input %x : f32[4,8]
  %in = linear(%x, %w) : f32[4,8]
  %n1 = layer_norm(%in, %g, %g) axes=1 : f32[4,8]
  %a1 = linear(%n1, %w) : f32[4,8]
  %s1 = add(%in, %a1) : f32[4,8]
  %n2 = layer_norm(%s1, %g, %g) axes=1 : f32[4,8]
  %a2 = linear(%n2, %w) : f32[4,8]
  %s2 = add(%s1, %a2) : f32[4,8]
  %n3 = layer_norm(%s2, %g, %g) axes=1 : f32[4,8]
  %y = linear(%n3, %w) : f32[4,8]
  return %y
)";

TEST(Widths, AStreamThatOnlySumsAndNormsReadIsWide) {
  for (const std::string_view target : {"tosa-int", "ethos-u55-128", "ethos-u85-256"}) {
    EXPECT_THAT(wide_values(kStream, target, without_front()), UnorderedElementsAre("in", "a1", "s1", "a2", "s2", "y"))
        << target;
  }
}

TEST(Widths, QuantizedInputsAndOutputsAreInt8) {
  QuantConfig config = without_front();
  config.outputs = IoType::kInt8;
  EXPECT_THAT(wide_values(kStream, "tosa-int", config), UnorderedElementsAre("in", "a1", "s1", "a2", "s2"));
}

TEST(Widths, OnlyOnRequestAndOnlyWhereThereAreBoth) {
  QuantConfig config = without_front();
  config.wide = false;
  EXPECT_THAT(wide_values(kStream, "tosa-int", config), IsEmpty());
  EXPECT_THAT(wide_values(kStream, "xnnpack"), IsEmpty());
}

TEST(Widths, RulesOverrideTheDefaultWidth) {
  auto config = read_config("front = 0.0\n[[rule]]\nnode = \"s1\"\nprecision = \"int8\"\n", "quant.toml");
  ASSERT_TRUE(config) << config.error().text();
  // What only s1 reads gains nothing by being wider than it.
  EXPECT_THAT(wide_values(kStream, "tosa-int", *config), UnorderedElementsAre("a2", "s2", "y"));
}

// A node that multiplies what is read, however many movers are between, and whatever else reads it.
TEST(Widths, WhatALayerReadsHasEightBits) {
  constexpr std::string_view kText = R"(graph
  const %w : f32[4,4,1,1] #0123456789abcdef
  input %x : f32[1,4,6,6]
  %a = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,6,6]
  %b = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,6,6]
  %s = add(%a, %b) : f32[1,4,6,6]
  %r = clamp(%s) min=0.0 : f32[1,4,6,6]
  %p = permute(%r) axes=[0,1,3,2] : f32[1,4,6,6]
  %c = conv2d(%p, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,6,6]
  %m = mean(%c) axes=[2,3] keepdim=true : f32[1,4,1,1]
  %t = sum(%r) axes=[2,3] keepdim=true : f32[1,4,1,1]
  return %m, %t
)";
  EXPECT_THAT(wide_values(kText, "tosa-int", without_front()), UnorderedElementsAre("c", "m", "t"));
}

TEST(Widths, WhatIsJoinedHasOneWidth) {
  constexpr std::string_view kText = R"(graph
  const %w : f32[4,4,1,1] #0123456789abcdef
  input %x : f32[1,4,6,6]
  %a = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,6,6]
  %b = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,6,6]
  %j = cat(%a, %b) axis=2 : f32[1,4,12,6]
  {}
  return %y
)";
  const std::string read_by_mean = fmt::format(kText, "%y = mean(%j) axes=[2,3] keepdim=true : f32[1,4,1,1]");
  const std::string read_by_layer =
      fmt::format(kText, "%y = conv2d(%j, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,4,12,6]");
  EXPECT_THAT(wide_values(read_by_mean, "tosa-int", without_front()), UnorderedElementsAre("a", "b", "j", "y"));
  EXPECT_THAT(wide_values(read_by_layer, "tosa-int", without_front()), UnorderedElementsAre("y"));
}

// In 8 bits nothing would be left of the small token beside the patches: the join and the stream around it have 16, and
// layers read 8 bits of what they need. Whichever comes first.
TEST(Widths, AJoinOfUnlikeInputsIsWide) {
  constexpr std::string_view kText = R"(graph
  const %token : f32[1,1,4] = [0.011,-0.02,0.007,0.015]
  const %w : f32[4,4] = [0.51,-0.23,0.12,0.3,0.2,0.4,-0.3,0.1,0.3,-0.2,0.5,0.2,-0.1,0.6,0.2,0.3]
  input %x : f32[1,6,4]
  %p = linear(%x, %w) : f32[1,6,4]
  %j = cat({}) axis=1 : f32[1,7,4]
  %t = slice(%j) axis=1 start={} end={} : f32[1,1,4]
  %u = linear(%t, %w) : f32[1,1,4]
  %a = linear(%j, %w) : f32[1,7,4]
  return %u, %a
)";
  test::Chance chance(3);
  const std::vector<Tensor> inputs{chance.reals({1, 6, 4}, -9, 9)};
  for (const bool is_first : {true, false}) {
    const Graph graph =
        test::graph_of(is_first ? fmt::format(kText, "%token, %p", 0, 1) : fmt::format(kText, "%p, %token", 6, 7));
    const Statistics statistics = test::observed(graph, {inputs});
    for (const std::string_view target_name : {"tosa-int", "ethos-u55-128", "ethos-u85-256"}) {
      QuantConfig config = without_front();
      config.widen = 0;
      EXPECT_THAT(wide_values(graph, target_name, config, &statistics), UnorderedElementsAre("p", "j", "t", "u", "a"));
      const TargetDesc& target = *find_target(target_name);
      Diagnostics diagnostics;
      const auto made = plan(graph, target, &statistics, config, diagnostics);
      ASSERT_TRUE(made) << made.error().text();
      const auto quantized = apply(graph, *made, target, &statistics, config);
      ASSERT_TRUE(quantized) << quantized.error().text();
      const auto proven = prove(*quantized, target, graph, config);
      EXPECT_TRUE(proven) << proven.error().text();
      const Graph& result = quantized->graph;
      // The layer reads 8 bits that are as fine as the token alone would have.
      const TensorType& read = result.type(result.producer(*result.find("u"))->inputs[0]);
      EXPECT_EQ(read.dtype, DType::kI8) << target.name;
      EXPECT_LT(read.quant->scale(), 0.036F / 255) << target.name;
      const auto found = interpret_integers(result, inputs, *target.integers.kernels);
      ASSERT_TRUE(found) << found.error().text();
      const auto wanted = interpret(graph, inputs);
      double signal = 0;
      double noise = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const auto exact = static_cast<double>((*wanted)[0]->data<float>()[i]);
        signal += exact * exact;
        noise += std::pow(static_cast<double>((*found)[0]->data<float>()[i]) - exact, 2);
      }
      EXPECT_GT(signal, 1000 * noise) << target.name;
    }
  }
}

// A mask far below the scores makes them coarse; in 16 bits they cost little. Where nothing may be paid they have 8.
// The image needs most of the memory, so that there is room.
TEST(Widths, WhatCostsTheOutputMostIsWide) {
  test::Chance chance(3);
  const auto numbers = [&](double first, double others) {
    std::string text;
    for (int i = 0; i < 256; ++i) {
      const double max = i % 5 == 0 ? first : others;
      text += fmt::format("{}{:.4f}", i == 0 ? "" : ",", max < 0 ? max : chance.real(-max, max));
    }
    return text;
  };
  const Graph graph = test::graph_of(fmt::format(R"(graph
  const %w : f32[16,16] = [{}]
  const %mask : f32[1,16,16] = [{}]
  input %x : f32[1,16,16]
  input %image : f32[1,64,64,16]
  %r = neg(%image) : f32[1,64,64,16]
  %q = linear(%x, %w) : f32[1,16,16]
  %s = add(%q, %mask) : f32[1,16,16]
  %p = softmax(%s) axis=2 : f32[1,16,16]
  return %p, %r
)",
                                                 numbers(0.2, 0.2), numbers(-24, 0)));
  const Statistics statistics =
      test::observed(graph, {{chance.reals({1, 16, 16}, -1, 1), chance.reals({1, 64, 64, 16}, -1, 1)}});
  QuantConfig config = without_front();
  config.widen = 0;
  EXPECT_THAT(wide_values(graph, "ethos-u85-256", config, &statistics), testing::Not(testing::Contains("s")));
  config.widen = 2;
  EXPECT_THAT(wide_values(graph, "ethos-u85-256", config, &statistics), testing::Contains("s"));
}

// A product of quantized values of two widths, and one of 16 bits where the device has none, read 8 bits of all.
TEST(Widths, ReadersWithoutInt16SupportReadInt8) {
  const Graph graph = test::graph_of(R"(graph
  input %x : f32[1,4,6]
  input %y : f32[1,6,5]
  %a = sigmoid(%x) : f32[1,4,6]
  %b = tanh(%y) : f32[1,6,5]
  %m = matmul(%a, %b) : f32[1,4,5]
  %e = exp(%b) : f32[1,6,5]
  return %m, %e
)");
  test::Chance chance(3);
  std::vector<Tensor> inputs{Tensor(DType::kF32, {1, 4, 6}), Tensor(DType::kF32, {1, 6, 5})};
  for (Tensor& input : inputs) {
    for (float& number : input.mutable_data<float>()) number = static_cast<float>(chance.real(-2, 2));
  }
  const Statistics statistics = test::observed(graph, {inputs});
  const std::pair<const char*, const char*> rows[] = {{"b", "tosa-int"}, {"?", "ethos-u55-128"}};
  for (const auto& [wide, target_name] : rows) {
    const auto config =
        read_config(fmt::format("[[rule]]\nnode = \"{}\"\nprecision = \"int16\"\n", wide), "quant.toml");
    ASSERT_TRUE(config) << config.error().text();
    const TargetDesc& target = *find_target(target_name);
    Diagnostics diagnostics;
    const auto made = plan(graph, target, &statistics, *config, diagnostics);
    ASSERT_TRUE(made) << made.error().text();
    const auto quantized = apply(graph, *made, target, &statistics, *config);
    ASSERT_TRUE(quantized) << quantized.error().text();
    const auto proven = prove(*quantized, target, graph, *config);
    EXPECT_TRUE(proven) << proven.error().text();
    const Graph& result = quantized->graph;
    const Node& product = *result.producer(*result.find("m"));
    for (const ValueId input : product.inputs) EXPECT_EQ(result.type(input).dtype, DType::kI8) << target_name;
    EXPECT_EQ(result.type(result.producer(*result.find("e"))->inputs[0]).dtype, DType::kI16) << target_name;
  }
}

// The first layer is next to nothing of all, and reads 16 bits of the image.
TEST(Widths, TheFirstLayersReadSixteenBits) {
  constexpr std::string_view kText = R"(graph
  const %w1 : f32[1,1,3,3] #0123456789abcdef
  const %w2 : f32[64,1,3,3] #0123456789abcdef
  const %w3 : f32[64,64,3,3] #0123456789abcdef
  input %x : f32[1,1,8,8]
  %a = conv2d(%x, %w1) stride=[1,1] dilation=[1,1] padding=[1,1,1,1] : f32[1,1,8,8]
  %b = conv2d(%a, %w2) stride=[1,1] dilation=[1,1] padding=[1,1,1,1] : f32[1,64,8,8]
  %c = conv2d(%b, %w3) stride=[1,1] dilation=[1,1] padding=[1,1,1,1] : f32[1,64,8,8]
  return %c
)";
  QuantConfig config;
  config.front = 0.001;
  EXPECT_THAT(wide_values(kText, "tosa-int", config), UnorderedElementsAre("x", "c"));
  config.inputs = IoType::kInt8;
  EXPECT_THAT(wide_values(kText, "tosa-int", config), UnorderedElementsAre("c"));
}

}  // namespace
}  // namespace isthmus::widths_test
