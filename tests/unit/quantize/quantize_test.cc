// Parameters, weights, equalization, clamps, I/O types and precision, each on the smallest graph that shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "interpret/interpreter.h"
#include "ops/table.h"
#include "quantize/apply/apply.h"
#include "quantize/apply/weights.h"
#include "quantize/improve/equalize.h"
#include "quantize/plan/parameters.h"
#include "quantize/plan/plan.h"
#include "quantize/prove/prove.h"
#include "support/quantized_graphs.h"
#include "support/quantized_tensors.h"
#include "support/random_quant_model.h"
#include "targets/registry.h"

namespace isthmus::quantize_test {
namespace {

using ::testing::ElementsAre;

const TargetDesc& xnnpack() { return *find_target("xnnpack"); }

Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& numbers) {
  Tensor tensor(DType::kF32, std::move(sizes));
  std::ranges::copy(numbers, tensor.mutable_data<float>().begin());
  return tensor;
}

// A graph with the plan for what these inputs show.
struct Planned {
  Graph graph;
  Statistics statistics;
  QuantConfig config;
  QuantPlan plan;
  Quantized quantized;

  Precision precision(std::string_view name) const { return plan.precision[graph[*graph.find(name)].index]; }
  const Group& group(std::string_view name) const { return *plan.group(*graph.find(name)); }
  std::size_t count(Op op) const {
    return static_cast<std::size_t>(std::ranges::count(quantized.graph.nodes(), op, &Node::op));
  }
};

Planned planned(std::string_view text, const std::vector<Tensor>& inputs, QuantConfig config = {},
                const TargetDesc& target = xnnpack()) {
  config.front = 0;
  Planned result{test::graph_of(text), {}, config, {}, {}};
  result.statistics = test::observed(result.graph, {inputs});
  Diagnostics diagnostics;
  auto made = plan(result.graph, target, &result.statistics, config, diagnostics);
  if (!made) throw std::runtime_error(made.error().text());
  result.plan = *std::move(made);
  auto applied = apply(result.graph, result.plan, target, &result.statistics, config);
  if (!applied) throw std::runtime_error(applied.error().text());
  result.quantized = *std::move(applied);
  const auto proven = prove(result.quantized, target, result.graph, config);
  EXPECT_TRUE(proven) << proven.error().text();
  return result;
}

QuantConfig with_rules(std::string_view text) {
  auto config = read_config(text, "quant.toml");
  EXPECT_TRUE(config) << config.error().text();
  return config ? *std::move(config) : QuantConfig{};
}

TEST(Parameters, ZeroIsRepresentableAndScalesAreNormal) {
  for (const Range range : {Range{-1, 1}, Range{-0.3, 7.7}, Range{-1e-3, 12}, Range{-5, 1e-9}, Range{2, 6}}) {
    const Quant quant = parameters_of(range, DType::kI8);
    const double scale = static_cast<double>(quant.scale());
    EXPECT_GE(quant.zero_point, -128);
    EXPECT_LE(quant.zero_point, 127);
    EXPECT_NEAR(scale * (-128 - quant.zero_point), std::min(range.min, 0.0), scale / 2 * 1.001);
    EXPECT_NEAR(scale * (127 - quant.zero_point), std::max(range.max, 0.0), scale / 2 * 1.001);
  }
  EXPECT_EQ(parameters_of({0, 6}, DType::kI8).zero_point, -128) << "after a relu no quantized value is below zero";
  EXPECT_EQ(parameters_of({-6, 0}, DType::kI8).zero_point, 127);
  EXPECT_EQ(parameters_of({0, 0}, DType::kI8), (Quant{{1.0F}, -128, -1}));
  EXPECT_EQ(parameters_of({0, 1e-40}, DType::kI8).scale(), 0x1p-60F);
  EXPECT_EQ(parameters_of({-2, 1}, DType::kI16), (Quant{{2.0F / 32767}, 0, -1}));
  EXPECT_EQ(parameters_of({0, 0}, DType::kI16), (Quant{{1.0F / 32767}, 0, -1}));
}

TEST(Weights, OneScaleForEachChannelOrOneForAll) {
  const Tensor weights = floats({2, 2}, {1, -0.5003F, 0.015F, 0.02013F});
  const Node node{Op::kLinear, NoAttrs{}, {}, {}, {}, false};
  const QuantizedLayer each = quantize_layer(node, weights.view(), nullptr, 0.5F, {true, false, std::nullopt});
  EXPECT_THAT(each.weight_quant.scales, ElementsAre(1.0F / 127, 0.02013F / 127));
  EXPECT_THAT(each.bias_quant.scales, ElementsAre(0.5F * (1.0F / 127), 0.5F * (0.02013F / 127)));
  EXPECT_EQ(each.weight_quant.axis, 0);
  const Tensor quantized = Tensor::from(each.weights);
  EXPECT_THAT(quantized.data<std::int8_t>(), ElementsAre(127, -64, 95, 127));
  const QuantizedLayer all = quantize_layer(node, weights.view(), nullptr, 0.5F, {false, true, std::nullopt});
  EXPECT_THAT(all.weight_quant.scales, ElementsAre(1.0F / 127));
  EXPECT_EQ(all.weight_quant.axis, -1);
}

TEST(Weights, GroupedTransposedConvolutionsKeepBiasesPerGroup) {
  // [inputs, outputs of a group]: inputs 0 and 1 belong to the outputs 0 to 2, inputs 2 and 3 to the others.
  const Tensor weights = floats({4, 3, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 127});
  const Tensor bias = floats({6}, {1, 2, 3, 4, 5, 6});
  const TensorView offsets = bias.view();
  const Node node{Op::kConvTranspose2d, ConvTransposeAttrs{{1, 1}, {0, 0, 0, 0}, {1, 1}, 2}, {}, {}, {}, false};
  const QuantizedLayer layer = quantize_layer(node, weights.view(), &offsets, 0.5F, {false, false, std::nullopt});
  EXPECT_THAT(layer.weight_quant.scales, ElementsAre(1.0F));
  EXPECT_THAT(Tensor::from(layer.weights).data<std::int8_t>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 127));
  EXPECT_THAT(Tensor::from(layer.bias).data<std::int32_t>(), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(magnitudes_of(node, weights.view()).sums, ElementsAre(5, 7, 9, 17, 19, 136));
}

TEST(Weights, MeansOfFewNumbersAreTrustedLess) {
  // Two channels of means 1 and -1, and a variance of 4 within each.
  const auto trust = [](std::uint64_t count) {
    const auto n = static_cast<double>(count);
    Moments moments;
    moments.count = 2 * count;
    moments.sum_of_squares = ExactSum(2 * n * (1 + 4));
    ChannelStatistics channels;
    channels.count = count;
    channels.sum = {ExactSum(n), ExactSum(-n)};
    return trust_in_means(moments, channels);
  };
  EXPECT_EQ(trust(1), 0);
  EXPECT_EQ(trust(5), 0) << "four of the five parts of a square are chance";
  EXPECT_NEAR(trust(17), 0.75, 1e-9);
  EXPECT_EQ(trust(1000), 1);
}

TEST(Weights, LeastSquaresClipWhereThatLosesLess) {
  // Many small numbers and a single larger one.
  std::vector<float> numbers(4000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.096F * std::sin(static_cast<float>(i));
  numbers[0] = 0.12F;
  const Tensor weights = floats({1, 4000}, numbers);
  const Node node{Op::kLinear, NoAttrs{}, {}, {}, {}, false};
  const auto error = [&](bool least_squares) {
    const QuantizedLayer layer = quantize_layer(node, weights.view(), nullptr, 1, {true, least_squares, std::nullopt});
    const Tensor quantized = Tensor::from(layer.weights);
    double sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      sum += std::pow(static_cast<double>(layer.weight_quant.scale()) * quantized.data<std::int8_t>()[i] -
                          static_cast<double>(numbers[i]),
                      2);
    }
    return sum;
  };
  EXPECT_LT(error(true), error(false));
}

// Neighbours in images are alike: what the result loses is mostly the sum of the errors of a window.
TEST(Weights, ErrorsOfAWindowBalance) {
  test::Chance chance(5);
  const Tensor weights = chance.reals({8, 4, 3, 3}, -1, 1);
  const Node node{Op::kConv2d, NoAttrs{}, {}, {}, {}, false};
  const auto squares = [&](bool least_squares, std::int64_t rows, bool sums_windows) {
    TensorView view = weights.view();
    view.sizes = {8, 4, rows, 9 / rows};
    view.strides = row_major_strides(view.sizes);
    const QuantizedLayer layer = quantize_layer(node, view, nullptr, 1, {true, least_squares, std::nullopt});
    const Tensor quantized = Tensor::from(layer.weights);
    double result = 0;
    for (std::size_t at = 0; at < 288; at += 9) {
      double sum = 0;
      for (std::size_t i = at; i < at + 9; ++i) {
        const auto scale = static_cast<double>(layer.weight_quant.scales[at / 36]);
        const double error = quantized.data<std::int8_t>()[i] - static_cast<double>(weights.data<float>()[i]) / scale;
        EXPECT_LT(std::abs(error), 1);
        if (sums_windows) {
          sum += error;
        } else {
          result += error * error;
        }
      }
      result += sum * sum;
    }
    return result;
  };
  EXPECT_LT(squares(true, 3, true), 0.4 * squares(false, 3, true));
  EXPECT_LT(squares(true, 3, false), 1.3 * squares(false, 3, false));
  // A signal's neighbours may be opposites.
  EXPECT_GT(squares(true, 1, true), 0.6 * squares(false, 1, true));
}

TEST(Weights, ABiasThatIsTooLargeForItsScaleWidensIt) {
  const Tensor weights = floats({1, 1}, {1e-6F});
  const Tensor bias = floats({1}, {1e6F});
  const TensorView offsets = bias.view();
  const Node node{Op::kLinear, NoAttrs{}, {}, {}, {}, false};
  const QuantizedLayer layer = quantize_layer(node, weights.view(), &offsets, 1e-4F, {true, false, std::nullopt});
  const Tensor quantized = Tensor::from(layer.bias);
  EXPECT_LE(std::abs(static_cast<double>(quantized.data<std::int32_t>()[0])), 0x1.001p30);
  EXPECT_NEAR(static_cast<double>(layer.bias_quant.scale()) * quantized.data<std::int32_t>()[0], 1e6, 1);
}

// Whatever the bias and however fine the result: `planned` proves that no sum leaves what the device has for it.
TEST(Weights, SumsStayWithinWhatTheDeviceHas) {
  const std::vector<Tensor> image{floats({1, 2, 2, 2}, {1, -2, 3, 0.5F, -1, 2, 1.5F, 0.25F})};
  for (const std::string bias : {"1e9", "-1e9", "1e3", "-3e38", "0.1"}) {
    for (const std::string range : {"[-1e-12, 1e-12]", "[-1e-6, 0.0]", "[-1.0, 3.0]", "[0.0, 1e9]"}) {
      SCOPED_TRACE(bias + " " + range);
      const std::string text =
          "graph\n  input %x : f32[1,2,2,2]\n  const %w : f32[2,2,1,1] = [1.0,0.5,-0.25,100.0]\n  const %b : f32[2] = "
          "[" +
          bias +
          ",0.0]\n  %y = conv2d(%x, %w, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]\n  return "
          "%y\n";
      const Planned made = planned(text, image, with_rules("[[rule]]\nnode = \"y\"\nrange = " + range + "\n"));
      EXPECT_EQ(made.precision("y"), Precision::kQuantized);
    }
  }
}

// What a sum with the whole bias saturates to, it saturates to with a bounded one.
TEST(Weights, ABiasIsNoLargerThanTheResultCanShow) {
  const Tensor weights = floats({2, 2}, {1, -0.5F, 0.25F, 1});
  const Tensor bias = floats({2}, {-1e6F, 3});
  const TensorView offsets = bias.view();
  const Node node{Op::kLinear, NoAttrs{}, {}, {}, {}, false};
  LayerOptions options{true, false, std::nullopt};
  options.sums = sum_limit_of(xnnpack().integers, Op::kLinear);
  options.result_scale = 0.1F;
  const QuantizedLayer layer = quantize_layer(node, weights.view(), &offsets, 0.05F, options);
  const Tensor quantized = Tensor::from(layer.bias);
  const auto shown = [&](std::size_t c) {
    return static_cast<double>(layer.bias_quant.scales[c]) * quantized.data<std::int32_t>()[c];
  };
  EXPECT_LT(shown(0), -(0.05 * 255 * 1.5 + 256 * 0.1)) << "every sum is below the least quantized value";
  EXPECT_GT(shown(0), -1e3);
  EXPECT_NEAR(shown(1), 3, 1e-3);
}

constexpr std::string_view kTwoConvs = R"(graph
  input %x : f32[1,2,2,2]
  const %a : f32[2,2,1,1] = [1.0,0.0,0.0,0.02]
  const %b : f32[1,2,1,1] = [1.0,-40.0]
  %first = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %relu = clamp(%first) min=0.0 : f32[1,2,2,2]
  %second = conv2d(%relu, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,1,2,2]
  return %second
)";
const std::vector<Tensor> kImage{floats({1, 2, 2, 2}, {1, -2, 3, 0.5F, -1, 2, 1.5F, 0.25F})};

TEST(Equalize, KeepsTheFunctionAndNames) {
  const Graph graph = test::graph_of(kTwoConvs);
  Statistics statistics = test::observed(graph, {kImage});
  for (auto& [name, value] : statistics.values) {
    if (name == "second") continue;
    value.channels[1] = TensorChannels{4,
                                       name == "x" ? std::vector<float>{-2, -1} : std::vector<float>{0, 0},
                                       name == "x" ? std::vector<float>{3, 2} : std::vector<float>{3, 0.04F},
                                       {2, 0.1}};
  }
  const auto equalized = equalize(graph, statistics);
  ASSERT_TRUE(equalized) << equalized.error().text();
  EXPECT_EQ(equalized->streams, 1U);
  const auto before = interpret(graph, kImage);
  const auto after = interpret(equalized->graph, kImage);
  ASSERT_TRUE(before && after);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR((*after)[0]->data<float>()[i], (*before)[0]->data<float>()[i], 1e-5F);
  }
  EXPECT_TRUE(equalized->graph.find("relu").has_value());
}

// A linear layer counts the last axis of an image, not its channels.
TEST(Equalize, KeepsStreamsWhoseReaderUsesAnotherAxis) {
  const Graph graph = test::graph_of(R"(graph
  input %x : f32[1,2,2,2]
  const %w : f32[2,2,1,1] = [1,0.5,0.02,-0.01]
  const %v : f32[3,2] = [1,2,3,4,5,6]
  %first = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %second = linear(%first, %v) : f32[1,2,2,3]
  return %second
)");
  Statistics statistics = test::observed(graph, {kImage});
  statistics.values["first"].channels[1] = TensorChannels{4, {0, 0}, {3, 0.04F}, {2, 0.1}};
  const auto equalized = equalize(graph, statistics);
  ASSERT_TRUE(equalized) << equalized.error().text();
  EXPECT_EQ(equalized->streams, 0U);
}

// What is joined has one scale, so that a branch of small numbers loses bits. The layer behind takes the factors back.
TEST(Equalize, GivesBranchesOfAJoinOneRange) {
  const Graph graph = test::graph_of(R"(graph
  input %x : f32[1,2,2,2]
  const %w : f32[2,2,1,1] = [1,0.5,1,-0.5]
  const %small : f32[2,2,1,1] = [0.01,0.02,0.02,-0.01]
  const %v : f32[1,4,1,1] = [1,2,50,40]
  %a = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %b = conv2d(%x, %small) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %both = cat(%a, %b) axis=1 : f32[1,4,2,2]
  %y = conv2d(%both, %v) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,1,2,2]
  return %y
)");
  Statistics statistics = test::observed(graph, {kImage});
  statistics.values["a"].channels[1] = TensorChannels{4, {-3, -3}, {3, 3}, {0, 0}};
  statistics.values["b"].channels[1] = TensorChannels{4, {-0.05F, -0.04F}, {0.06F, 0.05F}, {0, 0}};
  statistics.values["both"].channels[1] =
      TensorChannels{4, {-3, -3, -0.05F, -0.04F}, {3, 3, 0.06F, 0.05F}, {0, 0, 0, 0}};
  const auto equalized = equalize(graph, statistics);
  ASSERT_TRUE(equalized) << equalized.error().text();
  EXPECT_EQ(equalized->streams, 1U);
  const std::vector<double>& factors = equalized->factors.at("both");
  EXPECT_EQ(factors[0], 1);
  EXPECT_GT(factors[2], 4);
  EXPECT_EQ(equalized->factors.at("b")[1], factors[3]);
  const auto before = interpret(graph, kImage);
  const auto after = interpret(equalized->graph, kImage);
  ASSERT_TRUE(before && after);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR((*after)[0]->data<float>()[i], (*before)[0]->data<float>()[i], 1e-5F);
  }
}

TEST(Sharing, MeansThatCannotRescaleCoverTheirInput) {
  // The means are 1 and 2, eight times narrower than what they are made of: in steps of their own the pool would read
  // clipped numbers, and give means of those.
  const Planned pool = planned(R"(graph
  input %x : f32[1,1,2,4]
  const %a : f32[1,1,1,1] = [1.0]
  %conv = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,1,2,4]
  %mean = avg_pool2d(%conv) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] : f32[1,1,1,2]
  %end = conv2d(%mean, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,1,1,2]
  return %end
)",
                               {floats({1, 1, 2, 4}, {8, -8, 9, -8, 8, -4, 8, -1})}, {}, *find_target("ethos-u55-128"));
  EXPECT_LE(pool.group("mean").range.min, -7);
  EXPECT_GE(pool.group("mean").range.max, 8);
  EXPECT_EQ(pool.count(Op::kRescale), 0U);
}

TEST(Clamps, ClampsAreDroppedAtTheRangeLimitsAndKeptInside) {
  // The group of a relu ends at zero: nothing is left to clamp.
  const Planned relu = planned(kTwoConvs, kImage);
  EXPECT_EQ(relu.count(Op::kClamp), 0U);
  EXPECT_EQ(relu.group("relu").quant.zero_point, -128);
  // Joined with what is negative, zero is in the middle of the quantized values.
  const Planned joined = planned(R"(graph
  input %x : f32[1,2,2,2]
  const %a : f32[2,2,1,1] = [1.0,0.0,0.5,-1.0]
  %conv = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %relu = clamp(%conv) min=0.0 : f32[1,2,2,2]
  %other = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %both = cat(%relu, %other) axis=1 : f32[1,4,2,2]
  const %b : f32[1,4,1,1] = [1.0,-1.0,0.5,0.25]
  %end = conv2d(%both, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,1,2,2]
  return %end
)",
                                 kImage);
  EXPECT_EQ(joined.group("relu").members.size(), 4U) << "with the value before the clamp";
  EXPECT_EQ(joined.count(Op::kClamp), 1U);
}

TEST(InputsAndOutputs, AreInt8OnRequest) {
  QuantConfig config;
  config.inputs = config.outputs = IoType::kUint8;
  const Planned planned_u8 = planned(kTwoConvs, kImage, config);
  const Graph& graph = planned_u8.quantized.graph;
  const TensorType& input = graph.type(graph.inputs()[0]);
  EXPECT_EQ(input.dtype, DType::kU8);
  EXPECT_EQ(input.quant->zero_point, planned_u8.group("x").quant.zero_point + 128);
  EXPECT_EQ(graph.type(std::get<ValueId>(graph.outputs()[0].value)).dtype, DType::kU8);
  EXPECT_EQ(planned_u8.count(Op::kQuantize) + planned_u8.count(Op::kDequantize), 0U);
}

TEST(Rules, ReachThePlan) {
  const Planned plain = planned(kTwoConvs, kImage);
  EXPECT_EQ(plain.precision("second"), Precision::kQuantized);
  const Planned in_float =
      planned(kTwoConvs, kImage, with_rules("[[rule]]\nnode = \"second\"\nprecision = \"float\"\n"));
  EXPECT_EQ(in_float.precision("second"), Precision::kFloat);
  EXPECT_EQ(in_float.precision("first"), Precision::kQuantized);
  const Planned ranged = planned(kTwoConvs, kImage, with_rules("[[rule]]\nnode = \"second\"\nrange = [-10.0, 20.0]\n"));
  EXPECT_EQ(ranged.group("second").range, (Range{-10, 20}));
  const Planned one_scale = planned(kTwoConvs, kImage, with_rules("[[rule]]\nop = \"conv2d\"\nper_channel = false\n"));
  for (const Value& value : one_scale.quantized.graph.values()) {
    if (value.type.quant) {
      EXPECT_EQ(value.type.quant->axis, -1) << value.name;
    }
  }
}

TEST(Precisions, ComparisonsReadInt8WhereThereIsNoFloat) {
  const char* const text = R"(graph
  input %x : f32[1,2,2,2]
  const %a : f32[2,2,1,1] = [1.0,0.0,0.5,-1.0]
  const %c : f32[1,1,1,1] = [0.5]
  %conv = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %is_large = gt(%conv, %c) : bool[1,2,2,2]
  %is_above = lt(%x, %conv) : bool[1,2,2,2]
  %is_both = logical_and(%is_large, %is_above) : bool[1,2,2,2]
  %end = where(%is_both, %x, %conv) : f32[1,2,2,2]
  return %end, %is_large
)";
  const Planned is_quantized = planned(text, kImage, {}, *find_target("tosa-int"));
  EXPECT_EQ(is_quantized.precision("is_large"), Precision::kQuantized);
  EXPECT_EQ(is_quantized.precision("is_above"), Precision::kQuantized);
  EXPECT_EQ(is_quantized.count(Op::kDequantize), 1U) << "of the result alone";
  EXPECT_EQ(is_quantized.plan.group(*is_quantized.graph.find("is_large")), nullptr) << "bools have no scale";
  const Planned in_float = planned(text, kImage);
  EXPECT_EQ(in_float.precision("is_large"), Precision::kFloat) << "the library does not compare quantized values";
}

TEST(Precisions, MoversTakeTheCheaperSide) {
  // Between two softmaxes a permute stays in float; between two convolutions it is made of quantized values.
  const Planned result = planned(R"(graph
  input %x : f32[1,2,2,2]
  const %a : f32[2,2,1,1] = [1.0,0.0,0.5,-1.0]
  %first = conv2d(%x, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %inner = permute(%first) axes=[0,1,3,2] : f32[1,2,2,2]
  %second = conv2d(%inner, %a) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,2,2]
  %soft = softmax(%second) axis=3 !float : f32[1,2,2,2]
  %outer = permute(%soft) axes=[0,1,3,2] : f32[1,2,2,2]
  %again = softmax(%outer) axis=3 !float : f32[1,2,2,2]
  return %again
)",
                                 kImage);
  EXPECT_EQ(result.precision("inner"), Precision::kQuantized);
  EXPECT_EQ(result.precision("outer"), Precision::kFloat);
  EXPECT_EQ(result.count(Op::kQuantize), 1U);
  EXPECT_EQ(result.count(Op::kDequantize), 1U);
}

}  // namespace
}  // namespace isthmus::quantize_test
