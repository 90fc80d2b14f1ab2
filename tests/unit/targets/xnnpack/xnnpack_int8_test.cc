// Every form that computes on quantized values: lowered, written, read back, run, and compared with plain floats and
// with the integer interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>

#include "interpret/integer.h"
#include "ir/text.h"
#include "support/int8_graph.h"
#include "targets/xnnpack/integers/integer_kernels.h"
#include "targets/xnnpack/tap.h"

namespace isthmus::xnnpack_int8_test {
namespace {

using test::Int8Graph;
using test::quant;
using test::Scales;
using xnn::DataType;
using xnn::NodeKind;

using Make = std::function<ValueId(Int8Graph&, ValueId x)>;

struct Row {
  const char* name;
  std::vector<std::int64_t> sizes;
  Quant input;
  Make make;
  bool has_batch = true;
  double steps = 1;
};
std::ostream& operator<<(std::ostream& stream, const Row& row) { return stream << row.name; }

const Ints kOnes{1, 1};
const Ints kZeros{0, 0, 0, 0};
const Quant kInput = quant(0.03F, 5);
const Quant kPositive = quant(0.02F, -128);
const Quant kWide = quant(0.2F, -9);

// A convolution with this many output channels; its weights as PyTorch has them.
Make conv(const ConvAttrs& attrs, const std::vector<std::int64_t>& weights, Scales scales, bool has_bias = true) {
  return [=](Int8Graph& g, ValueId x) {
    const ValueId w = g.weight(weights, scales);
    std::vector<ValueId> inputs{x, w};
    if (has_bias) inputs.push_back(g.bias(x, w, weights[0]));
    return g.node(Op::kConv2d, attrs, inputs, kWide);
  };
}
Make conv_transpose(const ConvTransposeAttrs& attrs, const std::vector<std::int64_t>& weights, Scales scales,
                    std::int32_t axis = 1) {
  return [=](Int8Graph& g, ValueId x) {
    const ValueId w = g.weight(weights, scales, axis);
    return g.node(Op::kConvTranspose2d, attrs, {x, w, g.bias(x, w, weights[1] * attrs.groups)}, kWide);
  };
}
Make linear(Scales scales, bool has_bias = true) {
  return [=](Int8Graph& g, ValueId x) {
    const ValueId w = g.weight({7, 12}, scales);
    std::vector<ValueId> inputs{x, w};
    if (has_bias) inputs.push_back(g.bias(x, w, 7));
    return g.node(Op::kLinear, NoAttrs{}, inputs, quant(0.1F, 12));
  };
}
// One input, parameters of its own for the result.
Make function(Op op, const Quant& result, const Attrs& attrs = NoAttrs{}) {
  return [=](Int8Graph& g, ValueId x) { return g.node(op, attrs, {x}, result); };
}
// One input, whose parameters the result has as well.
Make mover(Op op, const Attrs& attrs) {
  return [=](Int8Graph& g, ValueId x) { return g.node(op, attrs, {x}, g.quant_of(x)); };
}
Make with_constant(Op op, const std::vector<std::int64_t>& sizes, const Quant& other, const Quant& result,
                   bool is_first = false) {
  return [=](Int8Graph& g, ValueId x) {
    const ValueId c = g.constant(sizes, other);
    return g.node(op, NoAttrs{}, is_first ? std::vector{c, x} : std::vector{x, c}, result);
  };
}
Make clamped(const Make& make, double min, double max) {
  return [=](Int8Graph& g, ValueId x) {
    const ValueId made = make(g, x);
    return g.node(Op::kClamp, ClampAttrs{min, max}, {made}, g.quant_of(made));
  };
}
constexpr double kNoBound = std::numeric_limits<double>::infinity();

std::vector<Row> products() {
  const std::vector<std::int64_t> image{2, 6, 9, 8};
  const ConvAttrs plain{kOnes, {1, 1, 1, 1}, kOnes, 1};
  const ConvAttrs strided{{2, 2}, {1, 0, 0, 1}, {1, 2}, 1};
  const Make small = conv({kOnes, kZeros, kOnes, 1}, {5, 6, 1, 1}, Scales::kEach);
  return {
      {"conv2d", image, kInput, conv(plain, {5, 6, 3, 3}, Scales::kEach)},
      {"conv2d_strided", image, kInput, conv(strided, {5, 6, 2, 3}, Scales::kEach)},
      {"conv2d_one_scale", image, kInput, conv(plain, {5, 6, 3, 3}, Scales::kOne)},
      {"conv2d_without_bias", image, kInput, conv(plain, {5, 6, 3, 3}, Scales::kEach, false)},
      {"conv2d_without_bias_one_scale", image, kInput, conv(plain, {5, 6, 3, 3}, Scales::kOne, false)},
      {"conv2d_groups", image, kInput, conv({kOnes, kZeros, kOnes, 2}, {4, 3, 3, 3}, Scales::kEach)},
      {"conv2d_depthwise", image, kInput, conv({kOnes, {1, 1, 1, 1}, kOnes, 6}, {6, 1, 3, 3}, Scales::kEach)},
      {"conv2d_depthwise_twice", image, kInput, conv({kOnes, kZeros, kOnes, 6}, {12, 1, 3, 3}, Scales::kEach)},
      {"conv2d_depthwise_one_scale", image, kInput, conv({kOnes, kZeros, kOnes, 6}, {6, 1, 3, 3}, Scales::kOne)},
      {"conv2d_depthwise_wide", image, kInput, conv({kOnes, {3, 3, 3, 3}, kOnes, 6}, {6, 1, 7, 7}, Scales::kEach)},
      {"conv2d_of_the_least_zero_point", image, kPositive, conv(plain, {5, 6, 3, 3}, Scales::kEach)},
      {"linear_of_the_largest_zero_point", {3, 12}, quant(0.03F, 127), linear(Scales::kEach)},
      {"conv_transpose2d", image, kInput, conv_transpose({{2, 2}, kZeros, kOnes, 1}, {6, 5, 2, 2}, Scales::kEach)},
      {"conv_transpose2d_groups", image, kInput,
       conv_transpose({{2, 2}, {1, 1, 1, 1}, kOnes, 2}, {6, 4, 3, 3}, Scales::kEach)},
      {"conv_transpose2d_depthwise", image, kInput,
       conv_transpose({{2, 2}, {1, 1, 1, 1}, kOnes, 6}, {6, 1, 3, 3}, Scales::kEach, 0)},
      {"conv_transpose2d_one_scale", image, kInput,
       conv_transpose({{2, 1}, kZeros, kOnes, 1}, {6, 5, 2, 2}, Scales::kOne)},
      {"linear", {3, 12}, kInput, linear(Scales::kEach)},
      {"linear_of_tokens", {2, 5, 12}, kInput, linear(Scales::kEach)},
      {"linear_one_scale", {3, 12}, kInput, linear(Scales::kOne)},
      {"linear_without_bias", {3, 12}, kInput, linear(Scales::kEach, false)},
      {"conv2d_relu", image, kInput, clamped(small, 0, kNoBound)},
      {"conv2d_relu6", image, kInput, clamped(small, 0, 6)},
      {"conv2d_at_most", image, kInput, clamped(small, -kNoBound, 1.5)},
      {"linear_relu", {3, 12}, kInput, clamped(linear(Scales::kEach), 0, kNoBound)},
      {"conv_transpose2d_relu", image, kInput,
       clamped(conv_transpose({{2, 2}, kZeros, kOnes, 1}, {6, 5, 2, 2}, Scales::kEach), 0, kNoBound)},
  };
}

std::vector<Row> elementwise() {
  const std::vector<std::int64_t> image{2, 4, 5, 6};
  const Quant unit = quant(0x1p-7F, 0);
  const Quant other = quant(0.05F, 40);
  const auto square = [](Int8Graph& g, ValueId x) { return g.node(Op::kMul, NoAttrs{}, {x, x}, quant(0.08F, -100)); };
  return {
      {"add", image, kInput, with_constant(Op::kAdd, image, other, quant(0.07F, 3)), false},
      {"add_channels", image, kInput, with_constant(Op::kAdd, {1, 4, 1, 1}, other, quant(0.07F, 3))},
      {"add_rows", {2, 5, 6}, kInput, with_constant(Op::kAdd, {1, 5, 1}, other, quant(0.07F, 3))},
      {"sub", image, kInput, with_constant(Op::kSub, {1, 4, 5, 6}, other, quant(0.07F, 3))},
      {"sub_from", image, kInput, with_constant(Op::kSub, {1, 1, 1, 6}, other, quant(0.07F, 3), true)},
      {"mul", image, kInput, with_constant(Op::kMul, {1, 4, 1, 1}, other, quant(0.2F, 3))},
      {"add_of_extreme_zero_points", image, kPositive,
       with_constant(Op::kAdd, {1, 4, 1, 1}, quant(0.05F, 127), quant(0.07F, -128))},
      {"mul_of_extreme_zero_points", image, kPositive,
       with_constant(Op::kMul, {1, 1, 5, 6}, quant(0.05F, 127), quant(0.2F, 127))},
      {"square", image, kInput, square},
      {"add_relu", image, kInput, clamped(with_constant(Op::kAdd, {1, 4, 1, 1}, other, quant(0.07F, 3)), 0, kNoBound)},
      {"mul_relu", image, kInput, clamped(square, 1, 6)},
      {"clamp", image, kInput, mover(Op::kClamp, ClampAttrs{-1, 2})},
      {"relu", image, kInput, mover(Op::kClamp, ClampAttrs{0, kNoBound})},
      {"neg", image, kInput, function(Op::kNeg, quant(0.04F, -7))},
      {"abs", image, kInput, function(Op::kAbs, kPositive)},
      {"exp", image, quant(0.02F, 5), function(Op::kExp, quant(0.05F, -128))},
      {"log", image, kPositive, function(Op::kLog, quant(0.03F, 20))},
      {"sqrt", image, kPositive, function(Op::kSqrt, quant(0.01F, -128))},
      {"rsqrt", image, kPositive, function(Op::kRsqrt, quant(0.02F, -128))},
      {"sin", image, kInput, function(Op::kSin, unit)},
      {"cos", image, kInput, function(Op::kCos, unit)},
      {"floor", image, kInput, function(Op::kFloor, quant(0.04F, 5))},
      {"ceil", image, kInput, function(Op::kCeil, quant(0.04F, 5))},
      {"sigmoid", image, kInput, function(Op::kSigmoid, quant(0x1p-8F, -128))},
      {"tanh", image, kInput, function(Op::kTanh, unit)},
      {"hardswish", image, kInput, function(Op::kHardswish, quant(0.02F, -100))},
      {"gelu", image, kInput, function(Op::kGelu, quant(0.02F, -100), GeluAttrs{})},
      {"leaky_relu", image, kInput, function(Op::kLeakyRelu, quant(0.025F, -60), SlopeAttrs{0.2})},
      {"leaky_relu_downwards", image, kInput, function(Op::kLeakyRelu, quant(0.025F, -60), SlopeAttrs{-0.5})},
      {"elu", image, kInput, function(Op::kElu, quant(0.025F, -60), EluAttrs{})},
      {"rescale", image, kInput, function(Op::kRescale, quant(0.05F, -11))},
      {"rescale_to_finer", image, kInput, function(Op::kRescale, quant(0.01F, 0))},
  };
}

std::vector<Row> movement() {
  const std::vector<std::int64_t> image{2, 4, 6, 8};
  const ResizeAttrs larger{ResizeMode::kLinear, {12, 16}, {}, false};
  const ResizeAttrs aligned{ResizeMode::kLinear, {11, 15}, {}, true};
  const MaxPoolAttrs pool{{3, 2}, {2, 2}, {1, 1, 0, 0}, kOnes, false};
  const Make joined = [](Int8Graph& g, ValueId x) {
    const ValueId token = g.constant({1, 4, 6, 3}, g.quant_of(x));
    return g.node(Op::kCat, AxisAttrs{3}, {token, x, token}, g.quant_of(x));
  };
  const Make twice = [](Int8Graph& g, ValueId x) {
    const ValueId turned = g.node(Op::kPermute, AxesAttrs{{0, 1, 3, 2}}, {x}, g.quant_of(x));
    const ValueId back = g.node(Op::kPermute, AxesAttrs{{0, 1, 3, 2}}, {turned}, g.quant_of(x));
    return g.node(Op::kCat, AxisAttrs{1}, {x, back}, g.quant_of(x));
  };
  return {
      {"mean", image, kInput, function(Op::kMean, quant(0.012F, 20), ReduceAttrs{{2, 3}, true}), false},
      {"max_pool2d", image, kInput, mover(Op::kMaxPool2d, pool), true, 1e-4},
      {"max_pool2d_relu", image, kInput, clamped(mover(Op::kMaxPool2d, pool), 0, 2)},
      {"resize2d", image, kInput, mover(Op::kResize2d, larger)},
      {"resize2d_aligned", image, kInput, mover(Op::kResize2d, aligned)},
      {"permute", image, kInput, mover(Op::kPermute, AxesAttrs{{0, 3, 1, 2}}), true, 1e-4},
      {"reshape", image, kInput,
       [](Int8Graph& g, ValueId x) {
         return g.node(Op::kReshape, ShapeAttrs{{g.size(x, 0), 192}}, {x}, g.quant_of(x));
       },
       true, 1e-4},
      {"slice", image, kInput, mover(Op::kSlice, SliceAttrs{2, 1, 5, 1}), true, 1e-4},
      {"pad", image, kInput, mover(Op::kPad, PadAttrs{PadMode::kConstant, {0, 0, 1, 2}, {0, 0, 0, 1}, 0.6}), true,
       1e-4},
      {"pad_with_the_least", image, kInput,
       mover(Op::kPad, PadAttrs{PadMode::kConstant, {0, 1, 0, 0}, {0, 0, 0, 1}, -kNoBound}), true, 1e-4},
      {"cat_with_constants", {1, 4, 6, 8}, kInput, joined, false, 1e-4},
      {"cat", image, kInput, twice, true, 1e-4},
  };
}

void expect_computed(const Row& row, bool has_batch) {
  Int8Graph build;
  const ValueId x = build.input(row.sizes, row.input, has_batch);
  const ValueId result = row.make(build, x);
  const Graph graph = std::move(build).finish({result});
  const std::string text = print(graph);
  const auto program = test::compile_graph(graph);
  ASSERT_TRUE(program) << program.error().text() << "\n" << text;
  ASSERT_EQ(program->delegates(), 1u) << text;
  ASSERT_EQ(program->host_nodes(), 0u) << text;
  auto method = run::Method::load(program->file());
  ASSERT_TRUE(method) << method.error().text();
  for (const std::int64_t batch : has_batch ? std::vector<std::int64_t>{1, 3, 8} : std::vector{row.sizes[0]}) {
    const std::vector<Tensor> inputs = test::random_inputs(graph, batch);
    const auto found = method->run(inputs);
    ASSERT_TRUE(found) << found.error().text() << "\n" << text;
    EXPECT_LE(test::steps_apart(graph, inputs, *found, 1), row.steps) << text;
    const auto exact = interpret_integers(graph, inputs, xnnpack::integer_kernels());
    ASSERT_TRUE(exact) << exact.error().text();
    EXPECT_TRUE(std::ranges::equal((*found)[0]->bytes(), (*exact)[0]->bytes())) << text;
  }
}

class Int8 : public testing::TestWithParam<Row> {};
TEST_P(Int8, Computes) {
  expect_computed(GetParam(), false);
  if (GetParam().has_batch) expect_computed(GetParam(), true);
}
std::string name_of_row(const testing::TestParamInfo<Row>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Products, Int8, testing::ValuesIn(products()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Elementwise, Int8, testing::ValuesIn(elementwise()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Movement, Int8, testing::ValuesIn(movement()), name_of_row);

std::vector<NodeKind> kinds_of(const xnn::Graph& graph) {
  std::vector<NodeKind> kinds;
  for (const xnn::Node& node : graph.nodes) kinds.push_back(node.kind);
  return kinds;
}

// Of the graph that `make` gives for an input of quantized values.
test::Program program_of(const std::vector<std::int64_t>& sizes, const Make& make) {
  Int8Graph build;
  const ValueId x = build.input(sizes, kInput);
  const ValueId result = make(build, x);
  auto program = test::compile_graph(std::move(build).finish({result}));
  if (!program) throw std::runtime_error(program.error().text());
  return *std::move(program);
}

TEST(Int8Lowering, ClampsBecomeBounds) {
  const Make make = clamped(conv({kOnes, kZeros, kOnes, 1}, {5, 6, 1, 1}, Scales::kEach), 0, kNoBound);
  const xnn::Graph graph = test::delegate_of(program_of({1, 6, 4, 4}, make));
  EXPECT_THAT(kinds_of(graph), testing::ElementsAre(NodeKind::kTranspose, NodeKind::kConv2d, NodeKind::kTranspose));
  EXPECT_EQ(graph.nodes[1].bounds, (xnn::Bounds{0, std::numeric_limits<float>::infinity()}));
}

TEST(Int8Lowering, ScalesStandAlongTheStoredAxis) {
  const auto filter_of = [](const Make& make) {
    const xnn::Graph graph = test::delegate_of(program_of({1, 6, 4, 4}, make));
    return graph.values[graph.nodes[1].inputs[1]];
  };
  const xnn::Value plain = filter_of(conv({kOnes, kZeros, kOnes, 1}, {5, 6, 1, 1}, Scales::kEach));
  EXPECT_EQ(plain.datatype, DataType::kQCI8);
  EXPECT_EQ(std::get<xnn::PerChannel>(plain.quant).axis, 0u);
  const xnn::Value depthwise = filter_of(conv({kOnes, kZeros, kOnes, 6}, {6, 1, 3, 3}, Scales::kEach));
  EXPECT_EQ(depthwise.dims, (std::vector<std::uint32_t>{1, 3, 3, 6}));
  EXPECT_EQ(std::get<xnn::PerChannel>(depthwise.quant).axis, 3u);
  const xnn::Value turned = filter_of(conv_transpose({{2, 2}, kZeros, kOnes, 2}, {6, 4, 2, 2}, Scales::kEach));
  EXPECT_EQ(turned.dims, (std::vector<std::uint32_t>{8, 2, 2, 3}));
  EXPECT_EQ(std::get<xnn::PerChannel>(turned.quant).scale_count, 8u);
}

TEST(Int8Lowering, EqualConstantsAreStoredOnce) {
  const Make make = [](Int8Graph& g, ValueId x) {
    const ValueId w = g.weight({12, 12}, Scales::kEach);
    const ValueId once = g.node(Op::kLinear, NoAttrs{}, {x, w}, kInput);
    const ValueId again = g.node(Op::kLinear, NoAttrs{}, {once, w}, kInput);
    const ValueId c = g.constant({3, 12}, kInput);
    return g.node(Op::kAdd, NoAttrs{}, {g.node(Op::kAdd, NoAttrs{}, {again, c}, kWide), c}, kWide);
  };
  const test::Program program = program_of({3, 12}, make);
  const auto file = pte::read_program(program.file());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->named_data.size(), 1u);
  EXPECT_EQ(file->named_data[0].bytes.size(), 144u);
  // Read by two nodes, an argument of the delegate once.
  EXPECT_EQ(test::delegate_of(program).external_count, 3u);
  EXPECT_EQ(file->constants.size(), 2u);
}

// Run node by node, it gives the same bytes and shows every value.
void expect_same_node_by_node(const test::Program& program, const std::vector<Tensor>& inputs,
                              const std::vector<std::optional<Tensor>>& expected) {
  const Graph& graph = program.prepared.graph;
  const Segment& segment = program.prepared.partitioning.segments[0];
  auto tapped = xnnpack::tapped(graph, segment);
  ASSERT_TRUE(tapped) << tapped.error().text();
  std::set<ValueId> seen;
  const auto see = [&](bool are_quantized, std::span<const xnnpack::TappedValue> values) {
    for (const xnnpack::TappedValue& value : values) {
      EXPECT_EQ(graph.type(value.id).quant.has_value(), are_quantized) << graph[value.id].name;
      seen.insert(value.id);
    }
  };
  const auto outputs = tapped->run(
      inputs, [&](std::span<const float>, auto values) { see(false, values); },
      [&](std::span<const std::int8_t>, auto values) { see(true, values); });
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ(seen.size(), graph.nodes().size() + graph.inputs().size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ValueId id = std::get<ValueId>(graph.outputs()[i].value);
    const auto place = static_cast<std::size_t>(std::ranges::find(segment.outputs, id) - segment.outputs.begin());
    EXPECT_EQ((*outputs)[place].sizes(), expected[i]->sizes());
    EXPECT_TRUE(std::ranges::equal((*outputs)[place].bytes(), expected[i]->bytes()));
  }
}

TEST(Int8Lowering, FloatsBetweenInt8NodesStayInTheDelegate) {
  for (const bool has_batch : {false, true}) {
    Int8Graph build;
    const ValueId x = build.float_input({2, 5, 12}, has_batch);
    const ValueId quantized = build.node(Op::kQuantize, QuantizeAttrs{}, {x}, quant(4.0F / 255, 0));
    const ValueId w = build.weight({7, 12}, Scales::kEach);
    const ValueId y = build.node(Op::kLinear, NoAttrs{}, {quantized, w, build.bias(quantized, w, 7)}, quant(0.06F, 3));
    const ValueId numbers = build.float_node(Op::kDequantize, DequantizeAttrs{}, {y});
    const ValueId softmax = build.float_node(Op::kSoftmax, AxisAttrs{2}, {numbers});
    const ValueId back = build.node(Op::kQuantize, QuantizeAttrs{}, {softmax}, quant(0x1p-8F, -128));
    const ValueId last =
        build.node(Op::kLinear, NoAttrs{}, {back, build.weight({3, 7}, Scales::kEach)}, quant(0.02F, 0));
    const ValueId out = build.float_node(Op::kDequantize, DequantizeAttrs{}, {last});
    const Graph graph = std::move(build).finish({out, back});
    const auto program = test::compile_graph(graph);
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(program->delegates(), 1u);
    EXPECT_EQ(program->host_nodes(), 0u);
    EXPECT_THAT(
        kinds_of(test::delegate_of(*program)),
        testing::ElementsAre(NodeKind::kConvert, NodeKind::kFullyConnected, NodeKind::kConvert, NodeKind::kSoftmax,
                             NodeKind::kConvert, NodeKind::kFullyConnected, NodeKind::kConvert));
    auto method = run::Method::load(program->file());
    ASSERT_TRUE(method) << method.error().text();
    const std::vector<Tensor> inputs = test::random_inputs(graph, has_batch ? 3 : 2);
    const auto found = method->run(inputs);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ((*found)[0]->dtype(), DType::kF32);
    EXPECT_EQ((*found)[1]->dtype(), DType::kI8);
    // A step of the first layer's quantized values is several of the probabilities'.
    EXPECT_LE(test::steps_apart(graph, inputs, *found, 0.02), 8);
    expect_same_node_by_node(*program, inputs, *found);
  }
}

// Floats in, floats out, weights of a quarter of the bytes.
TEST(Int8Lowering, RowsAreQuantizedWhileItRuns) {
  for (const bool has_batch : {false, true}) {
    Int8Graph build;
    const ValueId x = build.float_input({2, 5, 12}, has_batch);
    const ValueId a =
        build.float_node(Op::kLinear, NoAttrs{}, {x, build.weight({7, 12}, Scales::kEach), build.floats({7})});
    const ValueId b = build.float_node(Op::kLinear, NoAttrs{}, {x, build.weight({7, 12}, Scales::kEach)});
    const ValueId c = build.float_node(Op::kClamp, ClampAttrs{0, kNoBound}, {a});
    const Graph graph = std::move(build).finish({c, b});
    const auto program = test::compile_graph(graph);
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(program->delegates(), 1u);
    EXPECT_EQ(program->host_nodes(), 0u);
    EXPECT_THAT(kinds_of(test::delegate_of(*program)),
                testing::ElementsAre(NodeKind::kConvert, NodeKind::kFullyConnected, NodeKind::kFullyConnected));
    auto method = run::Method::load(program->file());
    ASSERT_TRUE(method) << method.error().text();
    for (const std::int64_t batch : has_batch ? std::vector<std::int64_t>{1, 8, 3} : std::vector<std::int64_t>{2}) {
      const std::vector<Tensor> inputs = test::random_inputs(graph, batch);
      const auto found = method->run(inputs);
      ASSERT_TRUE(found) << found.error().text();
      // Twelve products of half a step of a row, at most 4 / 255, and of weights up to 2.54.
      EXPECT_LE(test::steps_apart(graph, inputs, *found, 4.0 / 255), 6 * 2.54);
    }
  }
}

}  // namespace
}  // namespace isthmus::xnnpack_int8_test
