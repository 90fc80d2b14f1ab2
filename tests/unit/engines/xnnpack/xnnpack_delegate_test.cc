// Graphs of delegates in the local library: every kind of node computes its function, and what the library would
// refuse, abort at or get wrong is refused in our own words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "engines/xnnpack/builder.h"
#include "support/calls.h"
#include "support/delegates.h"
#include "support/models.h"
#include "support/programs.h"
#include "targets/host/running_call.h"

namespace isthmus::xnnpack_delegate_test {
namespace {

using test::GraphBuilder;
using testing::HasSubstr;
using xnn::DataType;
using xnn::NodeKind;
using xnn::PerTensor;

std::optional<Blob> no_data(const std::string&) { return std::nullopt; }

// Numbers between -1.5 and 1.5, or between 0.1 and 1.6 where a function wants positive ones.
Tensor some_numbers(const std::vector<std::size_t>& dims, std::uint32_t seed, bool is_positive) {
  Tensor tensor(DType::kF32, {dims.begin(), dims.end()});
  for (float& number : tensor.mutable_data<float>()) {
    seed = seed * 1664525u + 1013904223u;
    const float unit = static_cast<float>(seed >> 8) / static_cast<float>(1u << 24);
    number = is_positive ? 0.1f + 1.5f * unit : 3 * unit - 1.5f;
  }
  return tensor;
}

// By the reference kernels.
Tensor reference(Op op, const Attrs& attrs, const std::vector<Tensor>& inputs) {
  std::vector<host::Slot> slots;
  const auto result = host::RunningCall(slots, {}, 1 << 30).compute(op, attrs, inputs);
  if (!result) throw std::runtime_error(result.error().text());
  return *result;
}
Tensor permuted(const Tensor& tensor, Ints axes) {
  return reference(Op::kPermute, AxesAttrs{std::move(axes)}, {tensor});
}
// An op on images, which the delegate has as NHWC and the reference as NCHW.
Tensor on_images(Op op, const Attrs& attrs, std::vector<Tensor> inputs) {
  inputs[0] = permuted(inputs[0], {0, 3, 1, 2});
  return permuted(reference(op, attrs, inputs), {0, 2, 3, 1});
}

// The filter (1) or bias (2) of the only node.
Tensor constant_of(const xnn::Graph& graph, std::size_t input) {
  const xnn::Value& facts = graph.values[graph.nodes[0].inputs[input]];
  return Tensor::from({DType::kF32,
                       {facts.dims.begin(), facts.dims.end()},
                       row_major_strides({facts.dims.begin(), facts.dims.end()}),
                       0,
                       graph.constants[facts.data].bytes});
}

struct Row {
  NodeKind kind;
  std::function<Tensor(const std::vector<Tensor>& inputs, const xnn::Graph& graph)> expected;
  bool is_positive = false;
  double tolerance = 1e-5;
};

Row plain(NodeKind kind, Op op, bool is_positive = false) {
  return {kind, [op](const auto& inputs, const auto&) { return reference(op, default_attrs(op), inputs); },
          is_positive};
}
Row with(NodeKind kind, Op op, Attrs attrs) {
  return {kind, [op, attrs](const auto& inputs, const auto&) { return reference(op, attrs, inputs); }};
}

std::vector<Row> rows() {
  const auto filter = [](const xnn::Graph& graph, Ints order) {
    return permuted(constant_of(graph, 1), std::move(order));
  };
  const Ints two{2, 2};
  const Ints zero{0, 0, 0, 0};
  const Ints one{1, 1};
  return {
      plain(NodeKind::kAdd, Op::kAdd),
      plain(NodeKind::kSubtract, Op::kSub),
      plain(NodeKind::kMultiply, Op::kMul),
      plain(NodeKind::kDivide, Op::kDiv, true),
      plain(NodeKind::kMinimum, Op::kMinimum),
      plain(NodeKind::kMaximum, Op::kMaximum),
      plain(NodeKind::kBatchMatmul, Op::kMatmul),
      {NodeKind::kPrelu,
       [](const auto& in, const auto&) {
         const Tensor positive = reference(Op::kClamp, ClampAttrs{.min = 0}, {in[0]});
         const Tensor negative = reference(Op::kClamp, ClampAttrs{.max = 0}, {in[0]});
         return reference(Op::kAdd, NoAttrs{}, {positive, reference(Op::kMul, NoAttrs{}, {negative, in[1]})});
       }},
      plain(NodeKind::kSigmoid, Op::kSigmoid),
      plain(NodeKind::kFloor, Op::kFloor),
      plain(NodeKind::kCeiling, Op::kCeil),
      plain(NodeKind::kSquareRoot, Op::kSqrt, true),
      plain(NodeKind::kReciprocalRoot, Op::kRsqrt, true),
      plain(NodeKind::kLog, Op::kLog, true),
      plain(NodeKind::kGelu, Op::kGelu),
      plain(NodeKind::kTanh, Op::kTanh),
      plain(NodeKind::kExp, Op::kExp),
      plain(NodeKind::kSin, Op::kSin),
      plain(NodeKind::kCos, Op::kCos),
      plain(NodeKind::kHardswish, Op::kHardswish),
      plain(NodeKind::kNegate, Op::kNeg),
      plain(NodeKind::kAbs, Op::kAbs),
      {NodeKind::kSquare,
       [](const auto& in, const auto&) {
         return reference(Op::kMul, NoAttrs{}, {in[0], in[0]});
       }},
      {NodeKind::kCopy, [](const auto& in, const auto&) { return in[0]; }},
      with(NodeKind::kSoftmax, Op::kSoftmax, AxisAttrs{3}),
      with(NodeKind::kClamp, Op::kClamp, ClampAttrs{-0.25, 0.5}),
      with(NodeKind::kLeakyRelu, Op::kLeakyRelu, SlopeAttrs{0.125}),
      with(NodeKind::kElu, Op::kElu, EluAttrs{0.125, 1, 1}),
      with(NodeKind::kTranspose, Op::kPermute, AxesAttrs{{2, 0, 1}}),
      with(NodeKind::kReshape, Op::kReshape, ShapeAttrs{{2, 12}}),
      with(NodeKind::kPad, Op::kPad, PadAttrs{PadMode::kConstant, {0, 1, 0}, {0, 2, 1}, 0.5}),
      with(NodeKind::kConcat2, Op::kCat, AxisAttrs{1}),
      with(NodeKind::kConcat3, Op::kCat, AxisAttrs{1}),
      with(NodeKind::kConcat4, Op::kCat, AxisAttrs{1}),
      with(NodeKind::kConcat5, Op::kCat, AxisAttrs{1}),
      {NodeKind::kSlice,
       [](const auto& in, const auto&) {
         return reference(Op::kSlice, SliceAttrs{2, 1, 4, 1}, {reference(Op::kSlice, SliceAttrs{1, 1, 3, 1}, {in[0]})});
       }},
      {NodeKind::kConvert,
       [](const auto& in, const auto&) {
         const Tensor scale = test::tensor<double>({}, {0.03125});
         return reference(Op::kQuantize, QuantizeAttrs{}, {in[0], scale, test::tensor<std::int64_t>({}, {3})});
       }},
      {NodeKind::kFullyConnected,
       [](const auto& in, const auto& graph) {
         return reference(Op::kLinear, NoAttrs{}, {in[0], constant_of(graph, 1), constant_of(graph, 2)});
       }},
      {NodeKind::kConv2d,
       [=](const auto& in, const auto& graph) {
         return on_images(Op::kConv2d, ConvAttrs{two, {1, 1, 1, 1}, one, 1},
                          {in[0], filter(graph, {0, 3, 1, 2}), constant_of(graph, 2)});
       }},
      {NodeKind::kDepthwiseConv2d,
       [=](const auto& in, const auto& graph) {
         return on_images(Op::kConv2d, ConvAttrs{two, {1, 1, 1, 1}, one, 3},
                          {in[0], filter(graph, {3, 0, 1, 2}), constant_of(graph, 2)});
       }},
      {NodeKind::kConvTranspose2d,
       [=](const auto& in, const auto& graph) {
         // The adjustment of 1 is a padding of 0 instead of 1 at the end.
         return on_images(Op::kConvTranspose2d, ConvTransposeAttrs{two, {1, 0, 1, 0}, one, 1},
                          {in[0], filter(graph, {3, 0, 1, 2}), constant_of(graph, 2)});
       }},
      {NodeKind::kAvgPool2d,
       [=](const auto& in, const auto&) {
         return on_images(Op::kAvgPool2d, AvgPoolAttrs{two, two, zero}, in);
       }},
      {NodeKind::kMaxPool2d,
       [=](const auto& in, const auto&) {
         return on_images(Op::kMaxPool2d, MaxPoolAttrs{two, two, zero, one}, in);
       }},
      {NodeKind::kArgMaxPool2d,
       [=](const auto& in, const auto&) {
         return on_images(Op::kMaxPool2d, MaxPoolAttrs{two, two, zero, one}, in);
       }},
      with(NodeKind::kGlobalAvgPool2d, Op::kMean, ReduceAttrs{{1, 2}, true}),
      {NodeKind::kResizeBilinear,
       [](const auto& in, const auto&) {
         return on_images(Op::kResize2d, ResizeAttrs{ResizeMode::kLinear, {6, 8}, {}, false}, in);
       }},
  };
}

TEST(XnnpackDelegate, EveryKindOfNodeComputesItsFunction) {
  std::vector<NodeKind> tested{NodeKind::kAttention};  // which no runtime has
  for (const Row& row : rows()) {
    const xnn::Graph graph = test::one_node(row.kind);
    std::vector<Tensor> inputs;
    for (const xnn::Value& value : graph.values) {
      if (value.role != xnn::Role::kInput) continue;
      inputs.push_back(some_numbers({value.dims.begin(), value.dims.end()}, static_cast<std::uint32_t>(inputs.size()),
                                    row.is_positive));
    }
    const auto outputs = test::run_delegate(graph, inputs);
    ASSERT_TRUE(outputs.has_value()) << xnn::name_of(row.kind) << ": " << outputs.error().text();
    const test::Difference gap = test::difference((*outputs)[0], row.expected(inputs, graph));
    EXPECT_LE(gap.max, row.tolerance * std::max(gap.range, 1.0)) << xnn::name_of(row.kind) << " " << gap.why;
    tested.push_back(row.kind);
  }
  EXPECT_THAT(tested, testing::UnorderedElementsAreArray(test::node_kinds()));
}

// A graph that is wrong in one way, and what is said about it.
struct Fault {
  const char* name;
  std::function<void(GraphBuilder&)> make;
  const char* words;
};

std::vector<std::byte> bytes(std::size_t count) { return std::vector<std::byte>(count); }
std::uint32_t quantized(GraphBuilder& b, std::vector<std::uint32_t> dims, PerTensor params) {
  return b.input(std::move(dims), DataType::kQI8, params);
}
void unary(GraphBuilder& b, NodeKind kind, PerTensor in, PerTensor out, xnn::Fields fields = {}) {
  const auto x = quantized(b, {1, 4, 4, 2}, in);
  b.node(kind, {x}, {b.output({1, 4, 4, 2}, DataType::kQI8, out)}, std::move(fields));
}
void binary(GraphBuilder& b, NodeKind kind, float left, float right, float out) {
  const auto x = quantized(b, {2}, {left, 0});
  const auto y = quantized(b, {2}, {right, 0});
  b.node(kind, {x, y}, {b.output({2}, DataType::kQI8, PerTensor{out, 0})});
}
void linear(GraphBuilder& b, DataType filter, const xnn::Quant& filter_quant, DataType bias,
            const xnn::Quant& bias_quant, float out_scale = 1) {
  const auto x = quantized(b, {3, 4}, {1, 0});
  const auto w = b.constant({2, 4}, bytes(32), filter, filter_quant);
  const auto c = b.constant({2}, bytes(8), bias, bias_quant);
  b.node(NodeKind::kFullyConnected, {x, w, c}, {b.output({3, 2}, DataType::kQI8, PerTensor{out_scale, 0})});
}
void pool(GraphBuilder& b, NodeKind kind, const xnn::PoolFields& fields) {
  const auto x = b.input({1, 4, 4, 2});
  b.node(kind, {x}, {b.output({1, 4, 4, 2})}, fields);
}
void conv(GraphBuilder& b, const xnn::ConvFields& fields, std::vector<std::uint32_t> filter) {
  std::size_t count = 1;
  for (const std::uint32_t dim : filter) count *= dim;
  const auto x = b.input({1, 4, 4, 2});
  const auto w = b.constant(std::move(filter), bytes(4 * count));
  b.node(NodeKind::kConv2d, {x, w, xnn::kNone}, {b.output({1, 4, 4, 3})}, fields);
}

const PerTensor kA{0.5f, 3};
const PerTensor kB{0.5f, 4};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Fault kFaults[] = {
    {"transpose rescales",
     [](auto& b) {
       unary(b, NodeKind::kTranspose, kA, kB, xnn::TransposeFields{{0, 1, 2, 3}});
     },
     "input 0 (value 0) has scale 0.5 and zero point 3, the output (value 1) scale 0.5 and zero point 4"},
    {"copy rescales", [](auto& b) { unary(b, NodeKind::kCopy, kA, kB); },
     "moves quantized values and cannot rescale them"},
    {"slice rescales",
     [](auto& b) {
       unary(b, NodeKind::kSlice, kA, kB, xnn::SliceFields{{0, 0, 0, 0}, {0, 0, 0, 0}});
     },
     "moves quantized values and cannot rescale them"},
    {"join rescales",
     [](auto& b) {
       const auto x = quantized(b, {2}, kA);
       const auto y = quantized(b, {2}, kB);
       b.node(NodeKind::kConcat2, {x, y}, {b.output({4}, DataType::kQI8, kA)}, xnn::ConcatFields{0});
     },
     "input 1 (value 1)"},
    {"softmax of quantized values", [](auto& b) { unary(b, NodeKind::kSoftmax, kA, kA); },
     "it cannot compute qint8 from qint8"},
    {"add, ratio too large", [](auto& b) { binary(b, NodeKind::kAdd, 256, 1, 1); }, "input 0 / output scale is 256"},
    {"add, ratio too small", [](auto& b) { binary(b, NodeKind::kAdd, 1, 0x1p-11f, 1); },
     "scale of input 1 / output scale"},
    {"subtract", [](auto& b) { binary(b, NodeKind::kSubtract, 1, 256, 1); }, "scale of input 1 / output scale is 256"},
    {"multiply", [](auto& b) { binary(b, NodeKind::kMultiply, 16, 16, 1); }, "product of input scales / output scale"},
    {"matmul of quantized values",
     [](auto& b) {
       const auto x = quantized(b, {2, 2}, kA);
       b.node(NodeKind::kBatchMatmul, {x, x}, {b.output({2, 2}, DataType::kQI8, kA)});
     },
     "it cannot compute qint8 from qint8, qint8"},
    {"convert",
     [](auto& b) {
       unary(b, NodeKind::kConvert, {256, 0}, {1, 0});
     },
     "input scale / output scale is 256"},
    {"leaky relu",
     [](auto& b) {
       unary(b, NodeKind::kLeakyRelu, {1, 0}, {1, 0}, xnn::SlopeFields{0x1p-9f});
     },
     "|slope| x input scale / output scale"},
    {"slope", [](auto& b) { unary(b, NodeKind::kLeakyRelu, kA, kA, xnn::SlopeFields{kNan}); },
     "slope is NaN or infinite"},
    {"alpha", [](auto& b) { unary(b, NodeKind::kElu, kA, kA, xnn::SlopeFields{-1}); }, "alpha is not positive"},
    {"clamp after pooling",
     [](auto& b) {
       const auto x = quantized(b, {1, 4, 4, 2}, kA);
       const auto y = b.internal({1, 2, 2, 2}, DataType::kQI8, kA);
       b.node(NodeKind::kMaxPool2d, {x}, {y}, xnn::PoolFields{0, 0, 0, 0, 2, 2, 2, 2, 1, 1});
       b.node(NodeKind::kClamp, {y}, {b.output({1, 2, 2, 2}, DataType::kQI8, kB)}).bounds = xnn::Bounds{-1, 1};
     },
     "it rescales the result of max pooling"},
    {"clamp without bounds", [](auto& b) { unary(b, NodeKind::kClamp, kA, kA); }, "it has no bounds"},
    {"empty bounds",
     [](auto& b) {
       unary(b, NodeKind::kClamp, kA, kA);
       b.graph.nodes[0].bounds = xnn::Bounds{1, 1};
     },
     "bounds 1 and 1"},
    {"bounds that quantize to one value",
     [](auto& b) {
       unary(b, NodeKind::kClamp, kA, kA);
       b.graph.nodes[0].bounds = xnn::Bounds{0, 0.1f};
     },
     "quantize to the same value at scale 0.5 and zero point 3"},
    {"flags",
     [](auto& b) {
       unary(b, NodeKind::kCopy, kA, kA);
       b.graph.nodes[0].flags = 2;
     },
     "flags 0x2"},
    {"scale 0",
     [](auto& b) {
       unary(b, NodeKind::kCopy, {0, 0}, {0, 0});
     },
     "a scale of 0\n  in value 0"},
    {"scale NaN",
     [](auto& b) {
       unary(b, NodeKind::kCopy, {kNan, 0}, {kNan, 0});
     },
     "a scale of nan"},
    {"subnormal scale",
     [](auto& b) {
       unary(b, NodeKind::kCopy, {1e-40f, 0}, {1e-40f, 0});
     },
     "a scale of 1e-40"},
    {"zero point",
     [](auto& b) {
       unary(b, NodeKind::kCopy, {1, 128}, {1, 128});
     },
     "a zero point of 128 in qint8"},
    {"float with a scale", [](auto& b) { b.node(NodeKind::kAbs, {b.input({2}, DataType::kF32, kA)}, {b.output({2})}); },
     "numbers with a scale"},
    {"half floats",
     [](auto& b) { b.node(NodeKind::kAbs, {b.input({2}, DataType::kF16)}, {b.output({2}, DataType::kF16)}); },
     "cannot run f16 values"},
    {"channels that vary",
     [](auto& b) {
       const auto x = b.input({2}, DataType::kQCI8, xnn::PerChannel{{1, 1}, 0, 2, 0});
       b.node(NodeKind::kAbs, {x}, {b.output({2})});
     },
     "qcint8 that is not a constant"},
    {"filter's zero point",
     [](auto& b) {
       linear(b, DataType::kQI8, PerTensor{1, 1}, DataType::kQI32, PerTensor{1, 0});
     },
     "its filter has zero point 1, not 0"},
    {"filter's scales",
     [](auto& b) {
       linear(b, DataType::kQCI8, xnn::PerChannel{{1, kNan}, 0, 2, 0}, DataType::kQI32, PerTensor{1, 0});
     },
     "scale is not a positive finite number"},
    {"filter's axis",
     [](auto& b) {
       linear(b, DataType::kQCI8, xnn::PerChannel{{1, 1, 1, 1}, 0, 4, 1}, DataType::kQCI32,
              xnn::PerChannel{{1, 1}, 0, 2, 0});
     },
     "its filter has scales along axis 1, not 0"},
    {"kinds of bias",
     [](auto& b) {
       linear(b, DataType::kQCI8, xnn::PerChannel{{1, 1}, 0, 2, 0}, DataType::kQI32, PerTensor{1, 0});
     },
     "it cannot compute qint8 from qint8, qcint8, qint32"},
    {"product of scales",
     [](auto& b) {
       linear(b, DataType::kQI8, PerTensor{256, 0}, DataType::kQI32, PerTensor{1, 0});
     },
     "input scale x filter scale / output scale is 256"},
    {"float bias",
     [](auto& b) {
       linear(b, DataType::kQI8, PerTensor{1, 0}, DataType::kF32, {});
     },
     "it cannot compute qint8"},
    {"variable filter",
     [](auto& b) {
       const auto x = b.input({3, 4});
       b.node(NodeKind::kFullyConnected, {x, b.input({2, 4}), xnn::kNone}, {b.output({3, 2})});
     },
     "its filter or bias is not a constant"},
    {"bias' size",
     [](auto& b) {
       const auto x = b.input({3, 4});
       const auto w = b.constant({2, 4}, bytes(32));
       b.node(NodeKind::kFullyConnected, {x, w, b.constant({3}, bytes(12))}, {b.output({3, 2})});
     },
     "its bias is [3] for 2 channels"},
    {"filter's shape",
     [](auto& b) {
       conv(b, {1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 2, 3, 1, 0, 0}, {3, 3, 3, 3});
     },
     "its filter is [3,3,3,3], expected [3,3,3,2]"},
    {"groups",
     [](auto& b) {
       conv(b, {1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 3, 1, 0, 0}, {3, 3, 3, 1});
     },
     "its input has 2 channels, its groups 1"},
    {"stride 0",
     [](auto& b) {
       conv(b, {1, 1, 1, 1, 3, 3, 0, 1, 1, 1, 2, 3, 1, 0, 0}, {3, 3, 3, 2});
     },
     "a size, stride or dilation of 0"},
    {"padding",
     [](auto& b) {
       conv(b, {1u << 30, 1, 1, 1, 3, 3, 1, 1, 1, 1, 2, 3, 1, 0, 0}, {3, 3, 3, 2});
     },
     "a padding of 1073741824"},
    {"kernel beyond the image",
     [](auto& b) {
       conv(b, {0, 0, 0, 0, 5, 5, 1, 1, 1, 1, 2, 3, 1, 0, 0}, {3, 5, 5, 2});
     },
     "its kernel does not fit into [1,4,4,2]"},
    {"window of one",
     [](auto& b) {
       pool(b, NodeKind::kMaxPool2d, {0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
     },
     "its window has one element"},
    {"window in the padding",
     [](auto& b) {
       pool(b, NodeKind::kMaxPool2d, {2, 0, 0, 0, 2, 2, 1, 1, 1, 1});
     },
     "its padding is as large as its window"},
    {"dilated average",
     [](auto& b) {
       pool(b, NodeKind::kAvgPool2d, {0, 0, 0, 0, 2, 2, 1, 1, 2, 1});
     },
     "average pooling with dilation is not supported"},
    {"axis of a join",
     [](auto& b) {
       const auto x = b.input({2});
       b.node(NodeKind::kConcat2, {x, x}, {b.output({4})}, xnn::ConcatFields{1});
     },
     "axis 1 of [2]"},
    {"order of axes",
     [](auto& b) {
       b.node(NodeKind::kTranspose, {b.input({2, 2})}, {b.output({2, 2})}, xnn::TransposeFields{{0, 0}});
     },
     "its axes are not a permutation"},
    {"slice past the end",
     [](auto& b) {
       b.node(NodeKind::kSlice, {b.input({4})}, {b.output({2})}, xnn::SliceFields{{3}, {2}});
     },
     "2 elements from 3 on of axis 0 of [4]"},
    {"reshape", [](auto& b) { b.node(NodeKind::kReshape, {b.input({4})}, {b.output({3})}, xnn::ReshapeFields{{3}}); },
     "[4] cannot become [3]"},
    {"two unknown sizes",
     [](auto& b) {
       b.node(NodeKind::kReshape, {b.input({4})}, {b.output({4, 1})}, xnn::ReshapeFields{{0, 0}});
     },
     "[4] cannot become [0,0]"},
    {"broadcast",
     [](auto& b) {
       const auto x = b.input({2});
       b.node(NodeKind::kAdd, {x, b.input({3})}, {b.output({3})});
     },
     "shapes [2] and [3] do not match"},
    {"declared shape", [](auto& b) { b.node(NodeKind::kAbs, {b.input({2})}, {b.output({3})}); },
     "of the XNNPACK delegate is declared as [3], but abs gives [2]"},
    {"no rows", [](auto& b) { b.node(NodeKind::kAbs, {b.input({0})}, {b.output({0})}); }, "a size of 0 in [0]"},
    {"a result that is not read",
     [](auto& b) {
       const auto x = b.input({2});
       b.node(NodeKind::kAbs, {x}, {b.internal({2})});
       b.node(NodeKind::kNegate, {x}, {b.output({2})});
     },
     "its result is never read and is not an output of the delegate\n  in node 0 (abs) of the XNNPACK delegate"},
    {"too much memory",
     [](auto& b) {
       b.node(NodeKind::kAbs, {b.input({1u << 16, 1u << 16})}, {b.output({1u << 16, 1u << 16})});
     },
     "the values need too much memory"},
};

TEST(XnnpackDelegate, UnsupportedXnnpackGraphsAreRejectedWithOwnMessages) {
  for (const Fault& fault : kFaults) {
    GraphBuilder b;
    fault.make(b);
    const auto runtime = xnnpack::build(b.graph, no_data, {.max_bytes = 1 << 24});
    ASSERT_FALSE(runtime.has_value()) << fault.name;
    EXPECT_THAT(runtime.error().text(), HasSubstr(fault.words)) << fault.name;
  }
}

TEST(XnnpackDelegate, ConstantsThatAreNotPackedOutliveTheBlob) {
  auto graph = std::make_unique<GraphBuilder>();
  const auto x = graph->input({2, 3});
  graph->node(NodeKind::kAdd, {x, graph->floats({3}, {1, 2, 3})}, {graph->output({2, 3})});
  auto runtime = xnnpack::build(graph->graph, no_data);
  ASSERT_TRUE(runtime.has_value()) << runtime.error().text();
  graph.reset();
  ASSERT_TRUE(runtime->reshape(std::vector<xnnpack::Dims>{{2, 3}, {}}).has_value());
  std::vector<float> in(64, 10);
  std::vector<float> out(64, 0);
  const std::vector<std::byte*> buffers{reinterpret_cast<std::byte*>(in.data()),
                                        reinterpret_cast<std::byte*>(out.data())};
  ASSERT_TRUE(runtime->run(buffers).has_value());
  out.resize(6);
  EXPECT_EQ(out, (std::vector<float>{11, 12, 13, 11, 12, 13}));
}

TEST(XnnpackDelegate, NothingRunsBeforeItsShapesAreKnown) {
  auto runtime = xnnpack::build(test::one_node(NodeKind::kAbs), no_data);
  ASSERT_TRUE(runtime.has_value());
  std::vector<std::byte> memory(1000);
  const std::vector<std::byte*> buffers{memory.data(), memory.data()};
  EXPECT_FALSE(runtime->run(buffers).has_value());
  EXPECT_FALSE(runtime->reshape(std::vector<xnnpack::Dims>{{2, 3, 4}, {}}).has_value());
  EXPECT_FALSE(runtime->reshape(std::vector<xnnpack::Dims>{}).has_value());
  EXPECT_FALSE(runtime->run(buffers).has_value());
}

TEST(XnnpackDelegate, ASliceKeepsTheBatchThatItIsGiven) {
  const xnn::Graph graph = test::one_node(NodeKind::kSlice);
  for (const std::size_t batch : {1u, 2u, 7u}) {
    const Tensor input = some_numbers({batch, 3, 4}, 1, false);
    const auto outputs = test::run_delegate(graph, {input});
    ASSERT_TRUE(outputs.has_value()) << outputs.error().text();
    EXPECT_EQ((*outputs)[0].sizes(), (std::vector<std::int64_t>{static_cast<std::int64_t>(batch), 2, 3}));
  }
}

}  // namespace
}  // namespace isthmus::xnnpack_delegate_test
