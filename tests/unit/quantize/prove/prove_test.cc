// The proof: what it accepts, its words, and what it derives from descriptions other than XNNPACK's.
#include "quantize/prove/prove.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/quantized_graphs.h"
#include "targets/registry.h"

namespace isthmus::prove_test {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const std::size_t at = result.find(from);
  if (at == std::string::npos) ADD_FAILURE() << "there is no " << from;
  return at == std::string::npos ? result : result.replace(at, from.size(), to);
}

const TargetDesc& xnnpack() { return *find_target("xnnpack"); }

std::string verdict(std::string_view text, const TargetDesc& target = xnnpack()) {
  const auto result = prove(test::graph_of(text), target);
  return result ? std::string("proved") : result.error().message;
}
// With the model at hand.
std::string compared(const test::QuantizedCase& source, std::string_view text) {
  const Graph model = test::graph_of(source.model);
  QuantConfig config;
  config.inputs = config.outputs = source.io;
  const auto result = prove(test::quantized_of(text, model), xnnpack(), model, config);
  return result ? std::string("proved") : result.error().message;
}

TEST(Prove, CorrectGraphs) {
  for (const test::QuantizedCase& source : test::quantized_cases()) {
    EXPECT_EQ(verdict(source.quantized), "proved") << source.name;
    EXPECT_EQ(compared(source, source.quantized), "proved") << source.name;
    EXPECT_EQ(verdict(source.model), "proved") << "a graph without quantized values asks nothing: " << source.name;
  }
}

TEST(Prove, MessagesNameNodeDemandAndBothSides) {
  const std::string_view cat = test::quantized_case("cat").quantized;
  EXPECT_EQ(verdict(replaced(cat, "cat(%a_q, %b_r)", "cat(%a_q, %b_q)")),
            "cat %tokens (vit.py:41 concat): concatenates bytes and cannot rescale them: %b_q has i8 scale 0.003 zp "
            "-7, %tokens has i8 scale "
            "0.05 zp 3");
  EXPECT_EQ(verdict(replaced(cat, "cat(%a_q, %b_r) axis=1 : i8[1,4] @q0", "cat(%a_q, %b_r) axis=1 : f32[1,4]")),
            "cat %tokens (vit.py:41 concat): its result is quantized: %tokens is f32[1,4]");
  EXPECT_EQ(verdict(replaced(cat, "cat(%a_q, %b_r)", "cat(%a, %b_r)")),
            "cat %tokens (vit.py:41 concat): all of its data are quantized: %a is f32[1,2]");
  EXPECT_EQ(verdict(replaced(cat, "scale=0.003 zp=-7", "scale=1e-5 zp=-7")),
            "rescale %b_r: its multiplier has 8 bits before and behind the point: the ratio of scales is 0.0002, "
            "expected 0.00390625 <= ratio <= 128, %b_q has i8 scale 1e-05 zp -7, %b_r has i8 scale 0.05 zp 3");

  const std::string_view linear = test::quantized_case("linear around a float node").quantized;
  EXPECT_EQ(
      verdict(replaced(linear, "@b2 i32 scale=0.00012254903", "@b2 i32 scale=0.0001")),
      "linear %fc2 (net.py:7 linear): the scale of its bias is the product of input and weight: channel 0 of %b2 has "
      "0.0001, expected 0.00012254903 of %weights_q has i8 scale 0.003921569 zp -128, %w2 has i8 scale 0.03125 "
      "zp 0");
  EXPECT_EQ(verdict(replaced(linear, "softmax(%fc1_f)", "softmax(%fc1)")),
            "softmax %weights (net.py:6 softmax): its result is quantized: %weights is f32[1,2]");
  // Rows of floats are quantized dynamically; the delegate has no such thing for products of two tensors.
  EXPECT_EQ(verdict(replaced(linear, "softmax(%fc1_f) axis=1", "linear(%fc1_f, %w1)")), "proved");
}

TEST(Prove, ClampsThatAreGoneLeaveTheirBounds) {
  const test::QuantizedCase& conv = test::quantized_case("conv and clamp");
  std::string without = replaced(conv.quantized, "  %act = clamp(%conv) min=0.0 max=6.0 : i8[1,2,4,4] @y", "#");
  without = replaced(without, "dequantize(%act)", "dequantize(%conv)");
  EXPECT_EQ(verdict(without), "proved") << "the device asks for no clamp";
  EXPECT_EQ(
      compared(conv, without),
      "output %out: clamp %act (net.py:2 relu6) of the model bounds it to [0, 6]: %conv has i8 scale 0.0625 zp -20");
  // From 0 to 6, or inside.
  EXPECT_EQ(compared(conv, replaced(without, "scale=0.0625 zp=-20", "scale=0.023529412 zp=-128")), "proved");
  EXPECT_EQ(compared(conv, replaced(without, "scale=0.0625 zp=-20", "scale=0.01 zp=-128")), "proved");
  EXPECT_NE(compared(conv, replaced(without, "scale=0.0625 zp=-20", "scale=0.023529412 zp=-127")), "proved");
  EXPECT_NE(compared(conv, replaced(without, "scale=0.0625 zp=-20", "scale=0.024 zp=-128")), "proved");
}

TEST(Prove, FloatNodesAreNotQuantized) {
  constexpr std::string_view kModel = R"(graph
  input %x : f32[1,2]
  %y = softmax(%x) axis=1 : f32[1,2]  # net.py:6 softmax
  return %y
)";
  constexpr std::string_view kQuantized = R"(graph
  input %x : i8[1,2] @x
  %y = softmax(%x) axis=1 : i8[1,2] @y  # net.py:6 softmax
  return %y
quant
  @x i8 scale=0.5
  @y i8 scale=0.00390625 zp=-128
)";
  EXPECT_EQ(compared({"", kModel, "", "", "", IoType::kInt8}, kQuantized),
            "softmax %y (net.py:6 softmax): Isthmus cannot lower this operator to the target (softmax of int8 values): "
            "%y has i8 scale 0.00390625 zp -128");
  const std::string model = replaced(kModel, "softmax(%x) axis=1", "tanh(%x)");
  const std::string quantized = replaced(kQuantized, "softmax(%x) axis=1", "tanh(%x)");
  EXPECT_EQ(compared({"", model, "", "", "", IoType::kInt8}, quantized), "proved");
  const std::string in_float = replaced(model, "tanh(%x)", "tanh(%x) !float");
  EXPECT_EQ(compared({"", in_float, "", "", "", IoType::kInt8}, quantized),
            "tanh %y (net.py:6 softmax): stays in float: %y has i8 scale 0.00390625 zp -128");
}

TEST(Prove, RatiosAtTheirLimits) {
  const auto sum = [](float a, float result) {
    Graph graph;
    const TensorType quantized{DType::kI8, {Dim(4)}, Quant{{a}, 0, -1}};
    const ValueId x = graph.add_input("x", quantized);
    TensorType type = quantized;
    type.quant->scales[0] = result;
    graph.add_node(Op::kAdd, NoAttrs{}, {x, x}, {{"y", type}}, {});
    return prove(graph, xnnpack()).has_value();
  };
  constexpr float kScale = 0x1p-4F;
  EXPECT_FALSE(sum(kScale, kScale * 0x1p-8F));
  EXPECT_TRUE(sum(kScale, std::nextafter(kScale * 0x1p-8F, 1.0F)));
  EXPECT_TRUE(sum(kScale, kScale * 0x1p10F));
  EXPECT_FALSE(sum(kScale, std::nextafter(kScale * 0x1p10F, std::numeric_limits<float>::infinity())));
  // 255.999996 in real numbers, and 256 where the device computes it.
  EXPECT_FALSE(sum(std::nextafter(1.0F, 0.0F), std::nextafter(0x1p-8F, 0.0F)));
}

TEST(Prove, OtherDevices) {
  constexpr DType kWide[] = {DType::kI16, DType::kI8};
  constexpr PinRow kPins[] = {{Op::kSigmoid, Side::kResult, 0.0, 255.0 / 256, "its table has one range"},
                              {Op::kTanh, Side::kInput, -8.0, 8.0, "its table has one range"}};
  TargetDesc device = xnnpack();
  device.integers.storage = kWide;
  device.integers.pins = kPins;
  const std::string_view io = test::quantized_case("I/O of another 8-bit type").quantized;
  EXPECT_EQ(verdict(io, device), "proved");
  EXPECT_EQ(verdict(replaced(io, "@g i8 scale=0.00390625", "@g i8 scale=0.003906251"), device),
            "sigmoid %gate: its table has one range: %gate has i8 scale 0.003906251 zp -128, expected scale 0.00390625 "
            "zp -128");
  EXPECT_NE(verdict(replaced(io, "@g i8 scale=0.00390625 zp=-128", "@g i8 scale=0.00390625 zp=-127"), device),
            "proved");

  constexpr std::string_view kTanh = R"(graph
  input %x : i16[4] @x
  %y = tanh(%x) : i16[4] @y
  return %y
quant
  @x i16 scale=0.00024414808
  @y i16 scale=0.000030517578125
)";
  EXPECT_EQ(verdict(kTanh, device), "proved");
  EXPECT_EQ(verdict(kTanh), "tanh %y: xnnpack has no i16 values: %x has i16 scale 0.00024414808 zp 0");
  EXPECT_EQ(verdict(replaced(kTanh, "0.00024414808", "0.0003"), device),
            "tanh %y: its table has one range: %x has i16 scale 0.0003 zp 0, expected scale 0.00024414808 zp 0");
  EXPECT_EQ(verdict(replaced(kTanh, "scale=0.00024414808", "scale=0.00024414808 zp=1"), device),
            "input %x: the zero point of int16 is 0: %x has i16 scale 0.00024414808 zp 1");

  EXPECT_EQ(verdict(R"(graph
  input %x : i16[4] @x
  %y = reshape(%x) shape=[2,2] : i8[2,2] @y
  return %y
quant
  @x i16 scale=0.5
  @y i8 scale=0.5
)",
                    device),
            "reshape %y: moves bytes and cannot rescale them: %x has i16 scale 0.5 zp 0, %y has i8 scale 0.5 zp 0");

  device.integers.has_rescale = false;
  EXPECT_EQ(verdict(io, device), "rescale %x_q: xnnpack has no rescale: %x_q has i8 scale 0.051 zp 1");

  constexpr SharingRow kSharing[] = {{Op::kNeg, Sharing::kMustEqual, "has no scale"},
                                     {Op::kCat, Sharing::kFree, "scales while it joins"}};
  TargetDesc other = xnnpack();
  other.integers.sharing = kSharing;
  EXPECT_EQ(verdict(test::quantized_case("cat").quantized, other),
            "neg %neg (vit.py:42 neg): has no scale: %b_q has i8 scale 0.003 zp -7, %neg has i8 scale 0.003 zp 7");
  const std::string_view conv = test::quantized_case("conv and clamp").quantized;
  const std::string apart = replaced(
      replaced(conv, "clamp(%conv) min=0.0 max=6.0 : i8[1,2,4,4] @y", "clamp(%conv) min=0.0 max=6.0 : i8[1,2,4,4] @z"),
      "quant\n", "quant\n  @z i8 scale=0.05\n");
  EXPECT_EQ(verdict(apart, other),
            "clamp %act (net.py:2 relu6): bounds quantized values of one scale: %conv has i8 scale 0.0625 zp -20, %act "
            "has i8 scale "
            "0.05 zp 0");
}

TEST(Prove, FloatValuesAreLeftAlone) {
  EXPECT_EQ(verdict(R"(graph
  input %x : f32[4]
  input %i : i8[4]
  const %s : f64[] = 0.5
  const %z : i64[] = 0
  %q = quantize(%x, %s, %z) : i8[4]
  %f = dequantize(%q, %s, %z) : f32[4]
  %sum = add(%q, %i) : i8[4]
  return %f, %sum
)"),
            "proved");
  EXPECT_EQ(verdict(R"(graph
  input %x : i8[4] @x
  %i = argmax(%x) axes=[0] : i64[]
  %y = foreign("aten.foo.default", self=%x) : f32[4]
  return %i, %y
quant
  @x i8 scale=0.5
)"),
            "aten.foo.default %y: does not support quantized values: %x has i8 scale 0.5 zp 0");
}

TEST(Prove, PadValuesAreRepresentableOrOnlyCompared) {
  constexpr std::string_view kPool = R"(graph
  input %x : i8[1,1,4,4] @x
  %tall = pad(%x) before=[0,0,1,0] after=[0,0,1,0] value=-inf : i8[1,1,6,4] @x
  %wide = pad(%tall) before=[0,0,0,1] after=[0,0,0,1] value=-inf : i8[1,1,6,6] @x
  %pool = max_pool2d(%wide) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] dilation=[1,1] : i8[1,1,3,3] @x
  return %pool
quant
  @x i8 scale=0.5
)";
  EXPECT_EQ(verdict(kPool), "proved");
  EXPECT_EQ(verdict(replaced(kPool, "return %pool", "return %pool, %wide")),
            "pad %tall: its value -inf is representable: %tall has i8 scale 0.5 zp 0");
  EXPECT_EQ(verdict(replaced(kPool, "value=-inf", "value=-64.0")), "proved");
  EXPECT_EQ(verdict(replaced(kPool, "value=-inf", "value=-65.0")),
            "pad %tall: its value -65.0 is representable: %tall has i8 scale 0.5 zp 0");
}

TEST(Prove, ConstantsWithoutDataAreTakenAsTheyAre) {
  const std::string_view conv = test::quantized_case("conv and clamp").quantized;
  EXPECT_EQ(verdict(replaced(conv, "= [1,-127,3,127]", "#0123456789abcdef")), "proved");
  EXPECT_EQ(verdict(replaced(conv, "= [1,-127,3,127]", "= [1,-128,3,127]")),
            "conv2d %conv (net.py:1 conv2d): its quantized weights lie between -127 and 127: %w has -128");
}

TEST(Prove, WhereTheChannelsOfWeightsAre) {
  EXPECT_EQ(weight_axis(Op::kConv2d, ConvAttrs{}, {8, 4, 3, 3}), 0);
  EXPECT_EQ(weight_axis(Op::kLinear, NoAttrs{}, {8, 4}), 0);
  ConvTransposeAttrs attrs;
  EXPECT_EQ(weight_axis(Op::kConvTranspose2d, attrs, {8, 4, 3, 3}), 1);
  attrs.groups = 8;
  EXPECT_EQ(weight_axis(Op::kConvTranspose2d, attrs, {8, 1, 3, 3}), 0);
  EXPECT_EQ(weight_axis(Op::kConvTranspose2d, attrs, {8, 2, 3, 3}), std::nullopt) << "16 channels on no axis";
  attrs.groups = 4;
  EXPECT_EQ(weight_axis(Op::kConvTranspose2d, attrs, {8, 1, 3, 3}), std::nullopt);
  EXPECT_EQ(weight_axis(Op::kMatmul, NoAttrs{}, {8, 4}), std::nullopt);
}

}  // namespace
}  // namespace isthmus::prove_test
