// Integer kernels in XNNPACK's arithmetic against the local library, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "interpret/kernel.h"
#include "support/delegates.h"
#include "support/programs.h"
#include "support/quantized_tensors.h"
#include "targets/registry.h"
#include "targets/target.h"
#include "targets/xnnpack/integers/integer_kernels.h"

namespace isthmus::integer_xnnpack_test {
namespace {

using test::Chance;
using test::GraphBuilder;
using test::QuantizedTensor;
using xnn::DataType;
using xnn::NodeKind;

Tensor permuted(const Tensor& tensor, const Ints& axes) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t axis : axes) sizes.push_back(tensor.size(axis));
  const Attrs attrs = AxesAttrs{axes};
  return *run_kernel(Op::kPermute, {std::span(&tensor, 1), attrs, tensor.dtype(), sizes});
}
Tensor channels_last(const Tensor& tensor) { return permuted(tensor, {0, 2, 3, 1}); }
Tensor channels_first(const Tensor& tensor) { return permuted(tensor, {0, 3, 1, 2}); }

DataType datatype_of(const QuantizedTensor& value) {
  const bool by_channel = value.quant && value.quant->axis >= 0;
  switch (value.tensor.dtype()) {
    case DType::kI8:
      return by_channel ? DataType::kQCI8 : DataType::kQI8;
    case DType::kU8:
      return DataType::kQU8;
    case DType::kI32:
      return by_channel ? DataType::kQCI32 : DataType::kQI32;
    default:
      return DataType::kF32;
  }
}
// `axis`: where the channels of a filter are in the delegate's order of axes.
xnn::Quant quant_of(const QuantizedTensor& value, std::uint32_t axis = 0) {
  if (!value.quant) return {};
  if (value.quant->axis < 0) return xnn::PerTensor{value.quant->scale(), value.quant->zero_point};
  return xnn::PerChannel{value.quant->scales, 0, static_cast<std::uint32_t>(value.quant->scales.size()), axis};
}
std::vector<std::uint32_t> dims_of(const Tensor& tensor) { return {tensor.sizes().begin(), tensor.sizes().end()}; }

// One node of the delegate over the same numbers.
class Delegate {
 public:
  std::uint32_t input(const QuantizedTensor& value) {
    inputs_.push_back(value.tensor);
    return builder.input(dims_of(value.tensor), datatype_of(value), quant_of(value));
  }
  std::uint32_t constant(const QuantizedTensor& value, std::uint32_t axis = 0) {
    const auto bytes = value.tensor.bytes();
    return builder.constant(dims_of(value.tensor), {bytes.begin(), bytes.end()}, datatype_of(value),
                            quant_of(value, axis));
  }
  std::uint32_t output(const QuantizedTensor& like) {
    return builder.output(dims_of(like.tensor), datatype_of(like), quant_of(like));
  }
  Tensor run() {
    auto outputs = test::run_delegate(builder.graph, inputs_);
    if (!outputs) throw std::runtime_error(outputs.error().text());
    return (*outputs)[0];
  }

  GraphBuilder builder;

 private:
  std::vector<Tensor> inputs_;
};

Tensor ours(Op op, const Attrs& attrs, const std::vector<QuantizedTensor>& inputs, const QuantizedTensor& like) {
  return test::compute_quantized(xnnpack::integer_kernels(), op, attrs, inputs, like.type());
}

void expect_same(const Tensor& ours, const Tensor& theirs, const std::string& what) {
  ASSERT_EQ(ours.sizes(), theirs.sizes()) << what;
  const auto a = ours.bytes();
  const auto b = theirs.bytes();
  if (std::ranges::equal(a, b)) return;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  ADD_FAILURE() << what << ": " << count << " of " << a.size() << " bytes differ, the first at " << at << ": "
                << static_cast<int>(static_cast<std::int8_t>(a[at])) << ", the library has "
                << static_cast<int>(static_cast<std::int8_t>(b[at]));
}

// The result's quantized values, all zero: only its shape, type and parameters count.
QuantizedTensor empty_like(std::vector<std::int64_t> sizes, Quant quant, DType dtype = DType::kI8) {
  return {Tensor(dtype, std::move(sizes)), std::move(quant)};
}

TEST(IntegerXnnpack, Quantize) {
  Chance chance(1);
  for (int round = 0; round < 200; ++round) {
    const DType dtype = round % 4 == 0 ? DType::kU8 : DType::kI8;
    const float scale = chance.scale(1e-6, 1e4);
    QuantizedTensor x{chance.reals({97}, -300 * static_cast<double>(scale), 300 * static_cast<double>(scale))};
    // Ties and extremes.
    const auto numbers = x.tensor.mutable_data<float>();
    for (std::size_t i = 0; i < 40; ++i) numbers[i] = scale * (static_cast<float>(i) - 20.5f);
    numbers[40] = std::numeric_limits<float>::infinity();
    numbers[41] = -std::numeric_limits<float>::infinity();
    numbers[42] = std::numeric_limits<float>::max();
    numbers[43] = std::numeric_limits<float>::lowest();
    numbers[44] = std::numeric_limits<float>::quiet_NaN();
    const QuantizedTensor y = empty_like({97}, chance.quant(scale, dtype), dtype);
    Delegate delegate;
    const auto in = delegate.input(x);
    delegate.builder.node(NodeKind::kConvert, {in}, {delegate.output(y)});
    expect_same(ours(Op::kQuantize, QuantizeAttrs{.dtype = dtype}, {x}, y), delegate.run(), "quantize");
  }
}

Tensor every_value(DType dtype) {
  Tensor tensor(dtype, {256});
  for (std::size_t i = 0; i < 256; ++i) tensor.mutable_bytes()[i] = static_cast<std::byte>(i);
  return tensor;
}

TEST(IntegerXnnpack, Dequantize) {
  Chance chance(2);
  for (int round = 0; round < 100; ++round) {
    const DType dtype = round % 4 == 0 ? DType::kU8 : DType::kI8;
    const QuantizedTensor x{every_value(dtype), chance.quant(chance.scale(1e-30, 1e30), dtype)};
    const QuantizedTensor y{Tensor(DType::kF32, {256})};
    Delegate delegate;
    const auto in = delegate.input(x);
    delegate.builder.node(NodeKind::kConvert, {in}, {delegate.output(y)});
    expect_same(ours(Op::kDequantize, DequantizeAttrs{}, {x}, y), delegate.run(), "dequantize");
  }
}

TEST(IntegerXnnpack, Rescale) {
  Chance chance(3);
  for (int round = 0; round < 400; ++round) {
    const DType from = round % 4 == 0 ? DType::kU8 : DType::kI8;
    const float scale = chance.scale(1e-5, 1e5);
    const float other = round == 1   ? scale * 0x1p8f
                        : round == 2 ? scale * 0x1p-7f
                                     : scale * chance.scale(0x1.01p-7, 0x1.fep7);
    const QuantizedTensor x{every_value(from), chance.quant(scale, from)};
    const QuantizedTensor y = empty_like({256}, chance.quant(other));
    Delegate delegate;
    const auto in = delegate.input(x);
    delegate.builder.node(NodeKind::kConvert, {in}, {delegate.output(y)});
    expect_same(ours(Op::kRescale, NoAttrs{}, {x}, y), delegate.run(), "rescale");
  }
}

struct UnaryRow {
  Op op;
  NodeKind kind;
  Attrs attrs = NoAttrs{};
  xnn::Fields fields = {};
};

TEST(IntegerXnnpack, Tables) {
  const UnaryRow rows[] = {
      {Op::kNeg, NodeKind::kNegate},
      {Op::kAbs, NodeKind::kAbs},
      {Op::kExp, NodeKind::kExp},
      {Op::kLog, NodeKind::kLog},
      {Op::kSqrt, NodeKind::kSquareRoot},
      {Op::kRsqrt, NodeKind::kReciprocalRoot},
      {Op::kSin, NodeKind::kSin},
      {Op::kCos, NodeKind::kCos},
      {Op::kFloor, NodeKind::kFloor},
      {Op::kCeil, NodeKind::kCeiling},
      {Op::kSigmoid, NodeKind::kSigmoid},
      {Op::kTanh, NodeKind::kTanh},
      {Op::kHardswish, NodeKind::kHardswish},
      {Op::kGelu, NodeKind::kGelu, GeluAttrs{}},
      {Op::kElu, NodeKind::kElu, EluAttrs{0.7, 1, 1}, xnn::SlopeFields{0.7f}},
  };
  Chance chance(4);
  for (const UnaryRow& row : rows) {
    for (int round = 0; round < 200; ++round) {
      const QuantizedTensor x{every_value(DType::kI8), chance.quant(chance.scale(1e-4, 4))};
      const QuantizedTensor y = empty_like({256}, chance.quant(chance.scale(1e-4, 4)));
      Delegate delegate;
      const auto in = delegate.input(x);
      delegate.builder.node(row.kind, {in}, {delegate.output(y)}, row.fields);
      expect_same(ours(row.op, row.attrs, {x}, y), delegate.run(), std::string(name_of(row.op)));
    }
  }
}

TEST(IntegerXnnpack, LeakyRelu) {
  Chance chance(5);
  for (int round = 0; round < 300; ++round) {
    const float scale = chance.scale(1e-3, 1e3);
    const float ratio = chance.scale(0x1.02p-8, 0x1.fep6);
    const float slope = chance.scale(0x1.02p-8, 0x1.fep6) / ratio * (chance.coin() ? -1.0f : 1.0f);
    const QuantizedTensor x{every_value(DType::kI8), chance.quant(scale)};
    const QuantizedTensor y = empty_like({256}, chance.quant(scale / ratio));
    Delegate delegate;
    const auto in = delegate.input(x);
    delegate.builder.node(NodeKind::kLeakyRelu, {in}, {delegate.output(y)}, xnn::SlopeFields{slope});
    expect_same(ours(Op::kLeakyRelu, SlopeAttrs{static_cast<double>(slope)}, {x}, y), delegate.run(), "leaky_relu");
  }
}

TEST(IntegerXnnpack, Clamp) {
  Chance chance(6);
  for (int round = 0; round < 300; ++round) {
    const float scale = chance.scale(1e-4, 1e4);
    const QuantizedTensor x{every_value(DType::kI8), chance.quant(scale)};
    const bool is_same = round % 3 != 0;
    const QuantizedTensor y = empty_like({256}, is_same ? *x.quant : chance.quant(scale * chance.scale(0.1, 10)));
    const double from = x.quant->scale() * static_cast<float>(-128 - x.quant->zero_point);
    const double low = from + chance.real(0, 100) * static_cast<double>(scale);
    const double high = low + chance.real(2, 100) * static_cast<double>(scale);
    const auto min = static_cast<float>(low);
    const float max = round % 5 == 0 ? std::numeric_limits<float>::infinity() : static_cast<float>(high);
    const auto q = [&](float bound) {
      return std::lrint(
          std::clamp(bound / y.quant->scale() + static_cast<float>(y.quant->zero_point), -128.0f, 127.0f));
    };
    if (q(min) >= q(max)) continue;  // which the library refuses
    Delegate delegate;
    const auto in = delegate.input(x);
    delegate.builder.node(NodeKind::kClamp, {in}, {delegate.output(y)}).bounds = xnn::Bounds{min, max};
    expect_same(ours(Op::kClamp, ClampAttrs{static_cast<double>(min), static_cast<double>(max)}, {x}, y),
                delegate.run(), "clamp");
  }
}

// Shapes that broadcast.
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> pair_of_shapes(Chance& chance,
                                                                               std::vector<std::int64_t>& both) {
  std::vector<std::int64_t> a, b;
  const std::int64_t rank = chance.integer(1, 4);
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t size = chance.integer(1, 9);
    both.push_back(size);
    const std::int64_t which = chance.integer(0, 4);
    a.push_back(which == 0 ? 1 : size);
    b.push_back(which == 1 ? 1 : size);
  }
  return {a, b};
}

void expect_pairs(Op op, NodeKind kind, Chance& chance, float a, float b, float y_scale) {
  std::vector<std::int64_t> sizes;
  const auto [left, right] = pair_of_shapes(chance, sizes);
  const QuantizedTensor x{chance.quantized(left), chance.quant(a)};
  const QuantizedTensor z{chance.quantized(right), chance.quant(b)};
  const QuantizedTensor y = empty_like(sizes, chance.quant(y_scale));
  Delegate delegate;
  const auto in = delegate.input(x);
  const auto other = delegate.input(z);
  delegate.builder.node(kind, {in, other}, {delegate.output(y)});
  expect_same(ours(op, NoAttrs{}, {x, z}, y), delegate.run(), std::string(name_of(op)));
}

TEST(IntegerXnnpack, Sums) {
  Chance chance(7);
  for (int round = 0; round < 400; ++round) {
    const float y = chance.scale(1e-3, 1e3);
    const float near_one = chance.scale(0.1, 10);
    const bool is_extreme = round % 4 == 0;
    const float a = y * (is_extreme ? chance.scale(0x1.001p-10, 0x1.fffp7) : near_one);
    const float b = y * (is_extreme ? chance.scale(0x1.001p-10, 0x1.fffp7) : chance.scale(0.1, 10));
    expect_pairs(round % 2 == 0 ? Op::kAdd : Op::kSub, round % 2 == 0 ? NodeKind::kAdd : NodeKind::kSubtract, chance, a,
                 b, y);
  }
}

TEST(IntegerXnnpack, Products) {
  Chance chance(8);
  for (int round = 0; round < 400; ++round) {
    const float a = chance.scale(1e-3, 1e3);
    const float b = chance.scale(1e-3, 1e3);
    expect_pairs(Op::kMul, NodeKind::kMultiply, chance, a, b, a * b / chance.scale(0x1.001p-16, 0x1.fffp7));
  }
}

// A filter with one scale, or one for each slice of an axis; and the bias that belongs to it.
QuantizedTensor filter(Chance& chance, std::vector<std::int64_t> sizes, std::int32_t axis, float scale) {
  QuantizedTensor result{chance.quantized(std::move(sizes)), Quant{{scale}}};
  if (axis < 0) return result;
  result.quant = Quant{{}, 0, axis};
  for (std::int64_t i = 0; i < result.tensor.size(axis); ++i) {
    result.quant->scales.push_back(scale * chance.scale(0.1, 1));
  }
  return result;
}
QuantizedTensor bias_of(Chance& chance, std::int64_t channels, const QuantizedTensor& x, const QuantizedTensor& filter,
                        std::int64_t bound) {
  QuantizedTensor result{Tensor(DType::kI32, {channels}), Quant{{}, 0, filter.quant->axis < 0 ? -1 : 0}};
  for (std::int32_t& q : result.tensor.mutable_data<std::int32_t>()) {
    q = static_cast<std::int32_t>(chance.integer(-bound, bound));
  }
  for (const float scale : filter.quant->scales) result.quant->scales.push_back(scale * x.quant->scale());
  return result;
}

TEST(IntegerXnnpack, Linear) {
  Chance chance(9);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t rows = chance.integer(1, 5);
    const std::int64_t depth = chance.integer(1, round == 0 ? 3000 : 70);
    const std::int64_t columns = chance.integer(1, 40);
    const QuantizedTensor x{chance.quantized({rows, depth}), chance.quant(chance.scale(1e-3, 1))};
    const QuantizedTensor w = filter(chance, {columns, depth}, round % 3 == 0 ? -1 : 0, chance.scale(1e-4, 1e-1));
    const float ratio = round % 7 == 0 ? chance.scale(1e-9, 255) : chance.scale(1e-4, 1e-1);
    const QuantizedTensor y = empty_like({rows, columns}, chance.quant(x.quant->scale() * w.quant->scales[0] / ratio));
    std::vector<QuantizedTensor> inputs{x, w};
    // Sums go as far as the device's description lets them, whatever they are scaled by.
    const float max_ratio = x.quant->scale() * std::ranges::max(w.quant->scales) / y.quant->scale();
    const double reach = 255.0 * 128 * static_cast<double>(depth);
    const SumLimit& limit = *sum_limit_of(find_target("xnnpack")->integers, Op::kLinear);
    const double room = std::min(limit.max_sum, limit.max_scaled / static_cast<double>(max_ratio)) - reach;
    if (max_ratio >= 256 || room < 0) continue;
    const auto max_bias = static_cast<std::int64_t>(round % 5 == 0 ? room : std::min(room, 5000.0));
    if (round % 4 != 0) inputs.push_back(bias_of(chance, columns, x, w, max_bias));
    Delegate delegate;
    const auto in = delegate.input(x);
    const auto weight = delegate.constant(w);
    const auto bias = inputs.size() > 2 ? delegate.constant(inputs[2]) : xnn::kNone;
    delegate.builder.node(NodeKind::kFullyConnected, {in, weight, bias}, {delegate.output(y)});
    expect_same(ours(Op::kLinear, NoAttrs{}, inputs, y), delegate.run(), "linear");
  }
}

std::uint32_t u32(std::int64_t number) { return static_cast<std::uint32_t>(number); }

TEST(IntegerXnnpack, Convolutions) {
  Chance chance(10);
  for (int round = 0; round < 300; ++round) {
    const bool is_depthwise = round % 3 == 0;
    const std::int64_t groups = is_depthwise ? chance.integer(1, 40) : round % 3 == 1 ? 1 : chance.integer(2, 3);
    const std::int64_t inner = is_depthwise ? 1 : chance.integer(1, 12);
    const std::int64_t outer = is_depthwise ? chance.integer(1, 2) : chance.integer(1, 12);
    const Ints kernel{chance.integer(1, 5), chance.integer(1, 5)};
    const Ints stride{chance.integer(1, 3), chance.integer(1, 3)};
    const Ints dilation{chance.integer(1, 2), chance.integer(1, 2)};
    Ints padding;
    for (std::size_t i = 0; i < 4; ++i) padding.push_back(chance.integer(0, (kernel[i / 2] - 1) * dilation[i / 2]));
    std::vector<std::int64_t> in{chance.integer(1, 2), groups * inner};
    std::vector<std::int64_t> out{in[0], groups * outer};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
      in.push_back(reach + chance.integer(0, 9));
      out.push_back((in[i + 2] + padding[2 * i] + padding[2 * i + 1] - reach) / stride[i] + 1);
    }
    const QuantizedTensor x{chance.quantized(in), chance.quant(chance.scale(1e-3, 1))};
    const QuantizedTensor w = filter(chance, {groups * outer, inner, kernel[0], kernel[1]}, round % 4 == 0 ? -1 : 0,
                                     chance.scale(1e-4, 1e-1));
    const QuantizedTensor y =
        empty_like(out, chance.quant(x.quant->scale() * w.quant->scales[0] / chance.scale(1e-4, 0.2)));
    std::vector<QuantizedTensor> inputs{x, w};
    if (round % 5 != 0) inputs.push_back(bias_of(chance, groups * outer, x, w, 10000));
    Delegate delegate;
    const auto image = delegate.input({channels_last(x.tensor), x.quant});
    const auto weight = delegate.constant(
        {permuted(w.tensor, is_depthwise ? Ints{1, 2, 3, 0} : Ints{0, 2, 3, 1}), w.quant}, is_depthwise ? 3 : 0);
    const auto bias = inputs.size() > 2 ? delegate.constant(inputs[2]) : xnn::kNone;
    const xnn::ConvFields fields{u32(padding[0]),
                                 u32(padding[3]),
                                 u32(padding[1]),
                                 u32(padding[2]),
                                 u32(kernel[0]),
                                 u32(kernel[1]),
                                 u32(stride[0]),
                                 u32(stride[1]),
                                 u32(dilation[0]),
                                 u32(dilation[1]),
                                 u32(inner),
                                 u32(outer),
                                 u32(groups),
                                 0,
                                 0};
    const auto result = delegate.output({channels_last(y.tensor), y.quant});
    delegate.builder.node(is_depthwise ? NodeKind::kDepthwiseConv2d : NodeKind::kConv2d, {image, weight, bias},
                          {result}, fields);
    expect_same(ours(Op::kConv2d, ConvAttrs{stride, padding, dilation, groups}, inputs, y),
                channels_first(delegate.run()), is_depthwise ? "depthwise" : "conv2d");
  }
}

TEST(IntegerXnnpack, TransposedConvolutions) {
  Chance chance(11);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t groups = round % 3 == 0 ? chance.integer(2, 3) : 1;
    const std::int64_t inner = chance.integer(1, 9);
    const std::int64_t outer = chance.integer(1, 9);
    const Ints kernel{chance.integer(1, 4), chance.integer(1, 4)};
    const Ints stride{chance.integer(1, 3), chance.integer(1, 3)};
    const Ints dilation{chance.integer(1, 2), chance.integer(1, 2)};
    Ints padding;
    std::vector<std::int64_t> in{chance.integer(1, 2), groups * inner};
    std::vector<std::int64_t> out{in[0], groups * outer};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
      in.push_back(chance.integer(3, 8));
      padding.push_back(chance.integer(0, std::min<std::int64_t>(2, reach - 1)));
      padding.push_back(padding.back());
      out.push_back((in[i + 2] - 1) * stride[i] + reach - 2 * padding.back());
    }
    const QuantizedTensor x{chance.quantized(in), chance.quant(chance.scale(1e-3, 1))};
    const std::int32_t axis = round % 4 == 0 ? -1 : groups == 1 ? 1 : 0;
    QuantizedTensor w = filter(chance, {groups * inner, outer, kernel[0], kernel[1]}, axis, chance.scale(1e-4, 1e-1));
    // By result channel, as the delegate has them.
    QuantizedTensor theirs{Tensor(DType::kI8, {groups * outer, kernel[0], kernel[1], inner}), w.quant};
    for (std::int64_t o = 0; o < groups * outer; ++o) {
      for (std::int64_t i = 0; i < inner; ++i) {
        for (std::int64_t k = 0; k < kernel[0] * kernel[1]; ++k) {
          const std::int64_t filter_place = (o / outer * inner + i) * outer + o % outer;
          theirs.tensor
              .mutable_data<std::int8_t>()[static_cast<std::size_t>((o * kernel[0] * kernel[1] + k) * inner + i)] =
              w.tensor.data<std::int8_t>()[static_cast<std::size_t>(filter_place * kernel[0] * kernel[1] + k)];
        }
      }
    }
    if (axis == 0) {  // one scale a group
      theirs.quant->scales.clear();
      for (std::size_t i = 0; i < w.quant->scales.size(); ++i) {
        const std::size_t first = i / static_cast<std::size_t>(inner) * static_cast<std::size_t>(inner);
        w.quant->scales[i] = w.quant->scales[first];
      }
      for (std::int64_t o = 0; o < groups * outer; ++o) {
        theirs.quant->scales.push_back(w.quant->scales[static_cast<std::size_t>(o / outer * inner)]);
      }
    }
    const QuantizedTensor y =
        empty_like(out, chance.quant(x.quant->scale() * w.quant->scales[0] / chance.scale(1e-4, 0.2)));
    const QuantizedTensor bias = bias_of(chance, groups * outer, x, theirs, 10000);
    Delegate delegate;
    const auto image = delegate.input({channels_last(x.tensor), x.quant});
    const auto weight = delegate.constant(theirs, 0);
    const auto added = delegate.constant(bias);
    const xnn::ConvFields fields{u32(padding[0]),
                                 u32(padding[3]),
                                 u32(padding[1]),
                                 u32(padding[2]),
                                 u32(kernel[0]),
                                 u32(kernel[1]),
                                 u32(stride[0]),
                                 u32(stride[1]),
                                 u32(dilation[0]),
                                 u32(dilation[1]),
                                 u32(inner),
                                 u32(outer),
                                 u32(groups),
                                 0,
                                 0};
    const auto result = delegate.output({channels_last(y.tensor), y.quant});
    delegate.builder.node(NodeKind::kConvTranspose2d, {image, weight, added}, {result}, fields);
    expect_same(ours(Op::kConvTranspose2d, ConvTransposeAttrs{stride, padding, dilation, groups}, {x, w, bias}, y),
                channels_first(delegate.run()), "conv_transpose2d");
  }
}

TEST(IntegerXnnpack, MeanOverImages) {
  Chance chance(12);
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::int64_t> in{chance.integer(1, 2), chance.integer(1, 70), chance.integer(1, 24),
                                       chance.integer(1, 24)};
    const QuantizedTensor x{chance.quantized(in), chance.quant(chance.scale(1e-3, 1))};
    const QuantizedTensor y = empty_like({in[0], in[1], 1, 1}, chance.quant(x.quant->scale() * chance.scale(0.02, 3)));
    Delegate delegate;
    const auto image = delegate.input({channels_last(x.tensor), x.quant});
    const auto result = delegate.output({channels_last(y.tensor), y.quant});
    delegate.builder.node(NodeKind::kGlobalAvgPool2d, {image}, {result}).flags = 0x40;
    expect_same(ours(Op::kMean, ReduceAttrs{{2, 3}, true}, {x}, y), channels_first(delegate.run()), "mean");
  }
}

TEST(IntegerXnnpack, Resize) {
  Chance chance(13);
  for (int round = 0; round < 300; ++round) {
    const std::vector<std::int64_t> in{chance.integer(1, 2), chance.integer(1, 20), chance.integer(1, 12),
                                       chance.integer(1, 12)};
    const std::vector<std::int64_t> out{in[0], in[1], chance.integer(2, 30), chance.integer(2, 30)};
    const bool align_corners = chance.coin();
    const QuantizedTensor x{chance.quantized(in), chance.quant(chance.scale(1e-3, 1))};
    const QuantizedTensor y = empty_like(out, *x.quant);
    Delegate delegate;
    const auto image = delegate.input({channels_last(x.tensor), x.quant});
    const auto result = delegate.output({channels_last(y.tensor), y.quant});
    delegate.builder.node(NodeKind::kResizeBilinear, {image}, {result}, xnn::ResizeFields{u32(out[2]), u32(out[3])})
        .flags = align_corners ? 8 : 0;
    const ResizeAttrs attrs{ResizeMode::kLinear, {out[2], out[3]}, {}, align_corners};
    expect_same(ours(Op::kResize2d, attrs, {x}, y), channels_first(delegate.run()), "resize2d");
  }
}

TEST(IntegerXnnpack, Pads) {
  Chance chance(14);
  for (int round = 0; round < 100; ++round) {
    const float scale = chance.scale(1e-3, 1e3);
    const QuantizedTensor x{chance.quantized({2, 3, 4}), chance.quant(scale)};
    const QuantizedTensor y = empty_like({2, 6, 5}, *x.quant);
    const double value = round % 5 == 0 ? 0 : chance.real(-200, 200) * static_cast<double>(scale);
    const PadAttrs attrs{PadMode::kConstant, {0, 1, 0}, {0, 2, 1}, static_cast<double>(static_cast<float>(value))};
    Delegate delegate;
    const auto in = delegate.input(x);
    delegate.builder.node(NodeKind::kPad, {in}, {delegate.output(y)},
                          xnn::PadFields{{0, 1, 0}, {0, 2, 1}, static_cast<float>(value)});
    expect_same(ours(Op::kPad, attrs, {x}, y), delegate.run(), "pad");
  }
}

TEST(IntegerXnnpack, Pools) {
  Chance chance(15);
  for (int round = 0; round < 50; ++round) {
    const QuantizedTensor x{chance.quantized({1, chance.integer(1, 20), 7, 9}), chance.quant(0.1f)};
    const QuantizedTensor y = empty_like({1, x.tensor.size(1), 4, 4}, *x.quant);
    Delegate delegate;
    const auto image = delegate.input({channels_last(x.tensor), x.quant});
    const auto result = delegate.output({channels_last(y.tensor), y.quant});
    delegate.builder.node(NodeKind::kMaxPool2d, {image}, {result}, xnn::PoolFields{1, 0, 1, 0, 3, 3, 2, 2, 1, 1});
    const MaxPoolAttrs attrs{{3, 3}, {2, 2}, {1, 1, 0, 0}, {1, 1}};
    expect_same(ours(Op::kMaxPool2d, attrs, {x}, y), channels_first(delegate.run()), "max_pool2d");
  }
}

// Bytes go where floats go.
TEST(IntegerXnnpack, MovesWhatFloatsMove) {
  Chance chance(16);
  const QuantizedTensor x{chance.quantized({2, 3, 4}), chance.quant(0.1f)};
  const QuantizedTensor index{
      *run_kernel(Op::kArange, {{}, Attrs(ArangeAttrs{0, 2, 1, DType::kI64}), DType::kI64, {2}})};
  struct Row {
    Op op;
    Attrs attrs;
    std::vector<QuantizedTensor> inputs;
    std::vector<std::int64_t> sizes;
  };
  const Row rows[] = {
      {Op::kReshape, ShapeAttrs{{6, 4}}, {x}, {6, 4}},
      {Op::kPermute, AxesAttrs{{2, 0, 1}}, {x}, {4, 2, 3}},
      {Op::kExpand, ShapeAttrs{{5, 2, 3, 4}}, {x}, {5, 2, 3, 4}},
      {Op::kSlice, SliceAttrs{2, 0, 4, 2}, {x}, {2, 3, 2}},
      {Op::kFlip, AxesAttrs{{1, 2}}, {x}, {2, 3, 4}},
      {Op::kCat, AxisAttrs{1}, {x, x}, {2, 6, 4}},
      {Op::kIndexSelect, AxisAttrs{1}, {x, index}, {2, 2, 4}},
  };
  for (const Row& row : rows) {
    const Tensor moved = ours(row.op, row.attrs, row.inputs, empty_like(row.sizes, *x.quant));
    std::vector<Tensor> floats;
    for (const QuantizedTensor& input : row.inputs) {
      const auto numbers = test::meant({input.tensor, {}});
      Tensor tensor(DType::kF32, input.tensor.sizes());
      std::ranges::transform(numbers, tensor.mutable_data<float>().begin(),
                             [](double number) { return static_cast<float>(number); });
      floats.push_back(input.quant ? tensor : input.tensor);
    }
    const auto expected = run_kernel(row.op, {floats, row.attrs, DType::kF32, row.sizes});
    ASSERT_TRUE(expected.has_value()) << name_of(row.op);
    const auto numbers = expected->data<float>();
    EXPECT_TRUE(std::ranges::equal(moved.data<std::int8_t>(), numbers, [](std::int8_t q, float number) {
      return static_cast<float>(q) == number;
    })) << name_of(row.op);
  }
}

std::string refused(Op op, const Attrs& attrs, const std::vector<QuantizedTensor>& inputs,
                    const QuantizedTensor& like) {
  return test::kernel_refusal(xnnpack::integer_kernels(), op, attrs, inputs, like.type());
}

TEST(IntegerXnnpack, UnsupportedOperatorsAreNamed) {
  const QuantizedTensor x = empty_like({4}, Quant{{1}, 3});
  const QuantizedTensor wide = empty_like({4}, Quant{{1}}, DType::kI16);
  const QuantizedTensor real{Tensor(DType::kF32, {4})};
  const auto with_scale = [](float scale) { return empty_like({4}, Quant{{scale}, 3}); };
  EXPECT_EQ(refused(Op::kSoftmax, AxisAttrs{0}, {x}, x), "no integer kernel for softmax");
  EXPECT_EQ(refused(Op::kReshape, ShapeAttrs{{4}}, {x}, with_scale(2)), "input 0 has other parameters than the result");
  EXPECT_EQ(refused(Op::kAbs, NoAttrs{}, {wide}, wide), "i16 values");
  EXPECT_EQ(refused(Op::kAdd, NoAttrs{}, {x, real}, x), "f32 without parameters beside quantized values");
  EXPECT_EQ(refused(Op::kAdd, NoAttrs{}, {x, with_scale(256)}, x), "a ratio of scales of 256");
  EXPECT_EQ(refused(Op::kMul, NoAttrs{}, {with_scale(16), with_scale(16)}, x), "products would be multiplied by 256");
  EXPECT_EQ(refused(Op::kRescale, NoAttrs{}, {with_scale(256)}, x), "a ratio of scales of 256");
  EXPECT_EQ(refused(Op::kAbs, NoAttrs{}, {with_scale(-1)}, x), "a scale of -1");
  EXPECT_EQ(refused(Op::kAbs, NoAttrs{}, {x}, x), "");
}

}  // namespace
}  // namespace isthmus::integer_xnnpack_test
