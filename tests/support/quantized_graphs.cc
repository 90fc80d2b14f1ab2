// The graphs.
#include "support/quantized_graphs.h"

#include <algorithm>

#include "base/check.h"
#include "ir/text.h"

namespace isthmus::test {
namespace {

constexpr QuantizedCase kCases[] = {
    {"conv and clamp",
     R"(graph
  input %x : f32[1,2,4,4]
  const %w : f32[2,2,1,1] = [0.1,-0.9,0.2,1.9]
  const %b : f32[2] = [0.1,-0.1]
  %conv = conv2d(%x, %w, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,2,4,4]  # net.py:1 conv2d
  %act = clamp(%conv) min=0.0 max=6.0 : f32[1,2,4,4]  # net.py:2 relu6
  return %act
)",
     R"(graph
  input %x : f32[1,2,4,4]
  const %w : i8[2,2,1,1] @w = [1,-127,3,127]
  const %b : i32[2] @b = [100,-100]
  %x_q = quantize(%x) : i8[1,2,4,4] @x
  %conv = conv2d(%x_q, %w, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : i8[1,2,4,4] @y  # net.py:1 conv2d
  %act = clamp(%conv) min=0.0 max=6.0 : i8[1,2,4,4] @y  # net.py:2 relu6
  %out = dequantize(%act) : f32[1,2,4,4]
  return %out
quant
  @x i8 scale=0.05 zp=3
  @w i8 axis=0 scale=[0.0078125,0.015625]
  @b i32 axis=0 scale=[0.000390625,0.00078125]
  @y i8 scale=0.0625 zp=-20
)",
     "", "x_q"},
    {"clamps at the ends of quantized values",
     R"(graph
  input %x : f32[1,2,4,4]
  const %w : f32[2,1,1,1] = [0.1,-0.9]
  %dw = conv2d(%x, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] groups=2 : f32[1,2,4,4]
  %relu = clamp(%dw) min=0.0 : f32[1,2,4,4]
  %twice = add(%relu, %relu) : f32[1,2,4,4]
  %relu6 = clamp(%twice) min=0.0 max=6.0 : f32[1,2,4,4]
  %minus = neg(%dw) : f32[1,2,4,4]
  return %relu6, %minus
)",
     R"(graph
  input %x : f32[1,2,4,4]
  const %w : i8[2,1,1,1] @w = [127,-127]
  %x_q = quantize(%x) : i8[1,2,4,4] @x
  %relu = conv2d(%x_q, %w) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] groups=2 : i8[1,2,4,4] @r
  %twice = add(%relu, %relu) : i8[1,2,4,4] @t
  %minus = neg(%relu) : i8[1,2,4,4] @m
  %out = dequantize(%twice) : f32[1,2,4,4]
  %minus_f = dequantize(%minus) : f32[1,2,4,4]
  return %out, %minus_f
quant
  @x i8 scale=0.05 zp=3
  @w i8 axis=0 scale=[0.0013,0.0017]
  @r i8 scale=0.013 zp=-128
  @t i8 scale=0.0235294122248888 zp=-128
  @m i8 scale=0.013 zp=127
)",
     "x_q w relu twice minus", "x_q minus"},
    {"cat",
     R"(graph
  input %a : f32[1,2]
  input %b : f32[1,2]
  %tokens = cat(%a, %b) axis=1 : f32[1,4]  # vit.py:41 concat
  %neg = neg(%b) : f32[1,2]  # vit.py:42 neg
  return %tokens, %neg
)",
     R"(graph
  input %a : f32[1,2]
  input %b : f32[1,2]
  %a_q = quantize(%a) : i8[1,2] @q0
  %b_q = quantize(%b) : i8[1,2] @q1
  %b_r = rescale(%b_q) : i8[1,2] @q0
  %tokens = cat(%a_q, %b_r) axis=1 : i8[1,4] @q0  # vit.py:41 concat
  %neg = neg(%b_q) : i8[1,2] @q2  # vit.py:42 neg
  %tokens_f = dequantize(%tokens) : f32[1,4]
  %neg_f = dequantize(%neg) : f32[1,2]
  return %tokens_f, %neg_f
quant
  @q0 i8 scale=0.05 zp=3
  @q1 i8 scale=0.003 zp=-7
  @q2 i8 scale=0.003 zp=7
)",
     "b_q neg", "b_q neg"},
    {"residual with movers",
     R"(graph
  input %x : f32[1,4,4]
  %turned = permute(%x) axes=[0,2,1] : f32[1,4,4]
  %sum = add(%x, %turned) : f32[1,4,4]
  %flat = reshape(%sum) shape=[1,16] : f32[1,16]
  %padded = pad(%flat) before=[0,1] after=[0,1] value=0.5 : f32[1,18]
  %part = slice(%padded) axis=1 start=1 end=9 : f32[1,8]
  return %part
)",
     R"(graph
  input %x : f32[1,4,4]
  %x_q = quantize(%x) : i8[1,4,4] @x
  %turned = permute(%x_q) axes=[0,2,1] : i8[1,4,4] @x
  %sum = add(%x_q, %turned) : i8[1,4,4] @s
  %flat = reshape(%sum) shape=[1,16] : i8[1,16] @s
  %padded = pad(%flat) before=[0,1] after=[0,1] value=0.5 : i8[1,18] @s
  %part = slice(%padded) axis=1 start=1 end=9 : i8[1,8] @s
  %out = dequantize(%part) : f32[1,8]
  return %out
quant
  @x i8 scale=0.02 zp=-10
  @s i8 scale=0.041 zp=-9
)",
     "", ""},
    {"mul by a constant and leaky relu",
     R"(graph
  input %x : f32[1,2]
  const %c : f32[1,2] = [0.5,-1.0]
  %product = mul(%x, %c) : f32[1,2]
  %leaky = leaky_relu(%product) slope=0.125 : f32[1,2]
  return %leaky
)",
     R"(graph
  input %x : f32[1,2]
  const %c : i8[1,2] @c = [5,-128]
  %x_q = quantize(%x) : i8[1,2] @x
  %product = mul(%x_q, %c) : i8[1,2] @p
  %leaky = leaky_relu(%product) slope=0.125 : i8[1,2] @l
  %out = dequantize(%leaky) : f32[1,2]
  return %out
quant
  @x i8 scale=0.02 zp=5
  @c i8 scale=0.0078125 zp=1
  @p i8 scale=0.019 zp=-5
  @l i8 scale=0.011 zp=-90
)",
     "x_q c product leaky", "x_q c product leaky"},
    {"linear around a float node",
     R"(graph
  input %x : f32[1,2]
  const %w1 : f32[2,2] = [0.1,0.2,0.3,0.4]
  const %w2 : f32[2,2] = [0.1,0.2,0.3,0.4]
  const %b2 : f32[2] = [0.1,0.2]
  %fc1 = linear(%x, %w1) : f32[1,2]  # net.py:5 linear
  %weights = softmax(%fc1) axis=1 : f32[1,2]  # net.py:6 softmax
  %fc2 = linear(%weights, %w2, %b2) : f32[1,2]  # net.py:7 linear
  return %fc2
)",
     R"(graph
  input %x : f32[1,2]
  const %w1 : i8[2,2] @w1 = [1,2,3,4]
  const %w2 : i8[2,2] @w2 = [1,2,3,-127]
  const %b2 : i32[2] @b2 = [1000,-1000]
  %x_q = quantize(%x) : i8[1,2] @x
  %fc1 = linear(%x_q, %w1) : i8[1,2] @y1  # net.py:5 linear
  %fc1_f = dequantize(%fc1) : f32[1,2]
  %weights = softmax(%fc1_f) axis=1 : f32[1,2]  # net.py:6 softmax
  %weights_q = quantize(%weights) : i8[1,2] @s
  %fc2 = linear(%weights_q, %w2, %b2) : i8[1,2] @y2  # net.py:7 linear
  %out = dequantize(%fc2) : f32[1,2]
  return %out
quant
  @x i8 scale=0.05 zp=3
  @w1 i8 axis=0 scale=[0.01,0.011]
  @y1 i8 scale=0.06 zp=-4
  @s i8 scale=0.003921569 zp=-128
  @w2 i8 scale=0.03125
  @b2 i32 scale=0.00012254903
  @y2 i8 scale=0.017 zp=2
)",
     "x_q w1 fc1 fc2", "x_q fc1 weights_q fc2"},
    {"transposed convolutions",
     R"(graph
  input %x : f32[1,2,4,4]
  const %w : f32[2,3,1,1] = [1.0,2.0,3.0,4.0,5.0,6.0]
  const %b : f32[3] = [1.0,2.0,3.0]
  const %d : f32[3,1,1,1] = [1.0,2.0,3.0]
  %up = conv_transpose2d(%x, %w, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : f32[1,3,4,4]
  %dw = conv_transpose2d(%up, %d) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] groups=3 : f32[1,3,4,4]
  %pool = max_pool2d(%dw) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] dilation=[1,1] : f32[1,3,2,2]
  return %pool
)",
     R"(graph
  input %x : f32[1,2,4,4]
  const %w : i8[2,3,1,1] @w = [1,2,3,4,5,6]
  const %b : i32[3] @b = [1,2,3]
  const %d : i8[3,1,1,1] @d = [1,2,3]
  %x_q = quantize(%x) : i8[1,2,4,4] @x
  %up = conv_transpose2d(%x_q, %w, %b) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] : i8[1,3,4,4] @u
  %dw = conv_transpose2d(%up, %d) stride=[1,1] padding=[0,0,0,0] dilation=[1,1] groups=3 : i8[1,3,4,4] @y
  %pool = max_pool2d(%dw) kernel=[2,2] stride=[2,2] padding=[0,0,0,0] dilation=[1,1] : i8[1,3,2,2] @y
  %out = dequantize(%pool) : f32[1,3,2,2]
  return %out
quant
  @x i8 scale=0.05 zp=3
  @w i8 axis=1 scale=[0.0078125,0.015625,0.03125]
  @b i32 axis=0 scale=[0.000390625,0.00078125,0.0015625]
  @u i8 scale=0.07 zp=4
  @d i8 axis=0 scale=[0.01,0.02,0.03]
  @y i8 scale=0.09 zp=-4
)",
     "up d", "x_q up"},
    {"I/O of another 8-bit type",
     R"(graph
  input %x : f32[1,4]
  %turned = permute(%x) axes=[1,0] : f32[4,1]
  %gate = sigmoid(%turned) : f32[4,1]
  return %gate
)",
     R"(graph
  input %x : u8[1,4] @u
  %x_q = rescale(%x) : i8[1,4] @x
  %turned = permute(%x_q) axes=[1,0] : i8[4,1] @x
  %gate = sigmoid(%turned) : i8[4,1] @g
  %out = rescale(%gate) : u8[4,1] @o
  return %out
quant
  @u u8 scale=0.05 zp=128
  @x i8 scale=0.051 zp=1
  @g i8 scale=0.00390625 zp=-128
  @o u8 scale=0.00390625
)",
     "x gate out", "x gate out", IoType::kUint8},
    {"quantized I/O",
     R"(graph
  input %x : f32[1,4]
  input %i : i64[2]
  %turned = permute(%x) axes=[1,0] : f32[4,1]
  %squashed = tanh(%turned) : f32[4,1]
  return %squashed, %i
)",
     R"(graph
  input %x : i8[1,4] @x
  input %i : i64[2]
  %turned = permute(%x) axes=[1,0] : i8[4,1] @x
  %squashed = tanh(%turned) : i8[4,1] @t
  return %squashed, %i
quant
  @x i8 scale=0.05 zp=3
  @t i8 scale=0.0078125
)",
     "squashed", "squashed", IoType::kInt8},
};

}  // namespace

std::span<const QuantizedCase> quantized_cases() { return kCases; }

const QuantizedCase& quantized_case(std::string_view name) {
  const auto found = std::ranges::find(kCases, name, &QuantizedCase::name);
  CHECK(found != std::end(kCases), "there is such a case");
  return *found;
}

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  CHECK(graph.has_value(), graph.error().text());
  return *std::move(graph);
}

Quantized quantized_of(std::string_view text, const Graph& model) {
  Quantized result{graph_of(text), {}};
  for (const Value& value : result.graph.values()) {
    const bool is_new = value.kind == ValueKind::kConstant;
    result.source.push_back(is_new ? std::nullopt : model.find(value.name));
  }
  return result;
}

}  // namespace isthmus::test
