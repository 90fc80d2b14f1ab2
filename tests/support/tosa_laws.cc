// Graphs of random shapes and numbers, by the operators in them.
#include "support/tosa_laws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "support/tosa.h"

namespace isthmus::test {
namespace {

using tosa::Op;
using tosa::Type;
using tosa::ValueIndex;
using Ints = std::vector<std::int64_t>;
using Shape = std::vector<std::int32_t>;

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}

  std::int32_t up_to(std::int32_t max) { return below(max) + 1; }
  std::int32_t below(std::int32_t end) { return static_cast<std::int32_t>(random_() % static_cast<unsigned>(end)); }
  std::int64_t between(std::int64_t min, std::int64_t max) {
    return std::uniform_int_distribution<std::int64_t>(min, max)(random_);
  }
  bool coin() { return random_() % 2 == 0; }
  // Over the whole range of the type.
  Ints numbers(Type type, const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int32_t size : shape) count *= size;
    const std::int64_t end = std::int64_t{1} << (tosa::bits_of(type) - 1);
    Ints result;
    for (std::int64_t i = 0; i < count; ++i)
      result.push_back(type == Type::kBool ? between(0, 1) : between(-end, end - 1));
    return result;
  }
  std::mt19937& engine() { return random_; }

 private:
  std::mt19937 random_;
};

void compare(const TosaBuilder& b, Random& random) {
  const auto interpreter = tosa::Interpreter::load(b.graph);
  ASSERT_TRUE(interpreter.has_value()) << interpreter.error().text();
  run_both_ways(b.graph, random_inputs(*interpreter, random.engine()));
}

// A constant, or an input of the graph.
ValueIndex constant_or_input(TosaBuilder& b, Random& random, Type type, const Shape& shape) {
  return random.coin() ? b.constant(type, shape, random.numbers(type, shape)) : b.input(type, shape);
}
ValueIndex zero_point(TosaBuilder& b, Random& random, Type type) {
  return b.zero(type, type == Type::kI8 && random.coin() ? random.between(-128, 127) : 0);
}

struct Spatial {
  std::int32_t in, kernel, stride, dilation, before, after, out;
};
Spatial spatial(Random& random) {
  Spatial s{};
  do {
    s = {random.up_to(12), random.up_to(5), random.up_to(3), random.up_to(2), random.below(4), random.below(4), 0};
    const std::int32_t extent = s.in - 1 + s.before + s.after - (s.kernel - 1) * s.dilation;
    s.out = extent < 0 || extent % s.stride != 0 ? 0 : extent / s.stride + 1;
  } while (s.out == 0);
  return s;
}
struct ConvTypes {
  Type in, weights, out;
};
ConvTypes conv_types(Random& random) {
  static constexpr ConvTypes kTypes[] = {
      {Type::kI8, Type::kI8, Type::kI32}, {Type::kI8, Type::kI4, Type::kI32}, {Type::kI16, Type::kI8, Type::kI48}};
  return kTypes[random.below(3)];
}
ValueIndex conv(TosaBuilder& b, Random& random, Op op, const ConvTypes& types, const Spatial& y, const Spatial& x,
                ValueIndex in, const Shape& weight_shape, std::int32_t channels, std::int32_t batch) {
  const ValueIndex weights = constant_or_input(b, random, types.weights, weight_shape);
  const ValueIndex bias = constant_or_input(b, random, types.out, {random.coin() ? 1 : channels});
  const ValueIndex in_zero = zero_point(b, random, types.in);
  const ValueIndex weight_zero = zero_point(b, random, types.weights);
  const tosa::Conv fields{
      {y.before, y.after, x.before, x.after}, {y.stride, x.stride}, {y.dilation, x.dilation}, false, types.out};
  return b.op(op, fields, {in, weights, bias, in_zero, weight_zero}, types.out, {batch, y.out, x.out, channels});
}

void check_convolution(unsigned seed) {
  Random random(seed);
  TosaBuilder b;
  const ConvTypes types = conv_types(random);
  const Spatial y = spatial(random), x = spatial(random);
  const std::int32_t batch = random.up_to(3), in = random.up_to(seed % 8 == 0 ? 150 : 20), out = random.up_to(40);
  const ValueIndex image = b.input(types.in, {batch, y.in, x.in, in});
  b.output(conv(b, random, Op::kConv2d, types, y, x, image, {out, y.kernel, x.kernel, in}, out, batch));
  compare(b, random);
}

void check_depthwise_convolution(unsigned seed) {
  Random random(seed);
  TosaBuilder b;
  const ConvTypes types = conv_types(random);
  const Spatial y = spatial(random), x = spatial(random);
  const std::int32_t batch = random.up_to(3), in = random.up_to(20), multiplier = random.coin() ? 1 : random.up_to(4);
  const ValueIndex image = b.input(types.in, {batch, y.in, x.in, in});
  b.output(conv(b, random, Op::kDepthwiseConv2d, types, y, x, image, {y.kernel, x.kernel, in, multiplier},
                in * multiplier, batch));
  compare(b, random);
}

// More products than have room in the sums of 32 bits.
void check_depthwise_convolution_of_many_taps(unsigned seed) {
  Random random(seed);
  TosaBuilder b;
  const Spatial whole{19, 19, 1, 1, 0, 0, 1};
  const ValueIndex image = b.input(Type::kI16, {1, 19, 19, 3});
  b.output(conv(b, random, Op::kDepthwiseConv2d, {Type::kI16, Type::kI8, Type::kI48}, whole, whole, image,
                {19, 19, 3, 1}, 3, 1));
  compare(b, random);
}

void check_transposed_convolution(unsigned seed) {
  Random random(seed);
  TosaBuilder b;
  const ConvTypes types = conv_types(random);
  const std::int32_t batch = random.up_to(2), in = random.up_to(10), out = random.up_to(20);
  const std::int32_t ih = random.up_to(6), iw = random.up_to(6), kh = random.up_to(4), kw = random.up_to(4);
  const std::int32_t sy = random.up_to(3), sx = random.up_to(3);
  const auto pad = [&](std::int32_t kernel) { return random.below(kernel + 2) - kernel + 1; };
  Shape pads{pad(kh), pad(kh), pad(kw), pad(kw)};
  const std::int32_t oh = (ih - 1) * sy + pads[0] + pads[1] + kh, ow = (iw - 1) * sx + pads[2] + pads[3] + kw;
  if (oh < 1 || ow < 1) return;
  const ValueIndex image = b.input(types.in, {batch, ih, iw, in});
  const ValueIndex weights = constant_or_input(b, random, types.weights, {out, kh, kw, in});
  const ValueIndex bias = constant_or_input(b, random, types.out, {random.coin() ? 1 : out});
  const ValueIndex in_zero = zero_point(b, random, types.in);
  const ValueIndex weight_zero = zero_point(b, random, types.weights);
  b.output(b.op(Op::kTransposeConv2d, tosa::TransposeConv{pads, {sy, sx}, false, types.out},
                {image, weights, bias, in_zero, weight_zero}, types.out, {batch, oh, ow, out}));
  compare(b, random);
}

void check_mat_mul(unsigned seed) {
  Random random(seed);
  TosaBuilder b;
  const Type type = random.coin() ? Type::kI8 : Type::kI16;
  const std::int32_t n = random.up_to(3), h = random.up_to(90), c = random.up_to(seed % 8 == 0 ? 600 : 30),
                     w = random.up_to(40);
  const ValueIndex left = b.input(type, {n, h, c});
  const ValueIndex right = constant_or_input(b, random, type, {n, c, w});
  const ValueIndex left_zero = zero_point(b, random, type);
  const ValueIndex right_zero = zero_point(b, random, type);
  b.output(b.op(Op::kMatMul, tosa::Nothing{}, {left, right, left_zero, right_zero},
                type == Type::kI8 ? Type::kI32 : Type::kI48, {n, h, w}));
  compare(b, random);
}

void check_rescale(unsigned seed) {
  Random random(seed);
  for (const Type in : {Type::kI8, Type::kI16, Type::kI32, Type::kI48}) {
    for (const Type out : {Type::kI8, Type::kI16, Type::kI32}) {
      TosaBuilder b;
      tosa::Rescale fields;
      fields.scale32 = in != Type::kI48 && random.coin();
      fields.per_channel = random.coin();
      const bool may_be_unsigned = in != Type::kI32 && in != Type::kI48 && out != Type::kI32;
      fields.input_unsigned = may_be_unsigned && random.below(3) == 0;
      fields.output_unsigned = may_be_unsigned && !fields.input_unsigned && random.below(3) == 0;
      fields.rounding = random.below(4) == 0 && fields.scale32 ? tosa::Rounding::kDouble : tosa::Rounding::kSingle;
      const std::int32_t channels = random.up_to(seed % 4 == 0 ? 700 : 40);
      const Shape shape{random.up_to(9), random.up_to(9), channels};
      const std::int32_t scales = fields.per_channel ? channels : 1;
      Ints multipliers, shifts;
      // Of shifts that any number of the type can have.
      const int bits = static_cast<int>(tosa::bits_of(in));
      const int min_shift = fields.scale32 ? bits + 1 : std::max(2, bits - 15);
      for (std::int32_t i = 0; i < scales; ++i) {
        multipliers.push_back(random.between(0, (std::int64_t{1} << (fields.scale32 ? 31 : 15)) - 1));
        shifts.push_back(random.between(min_shift, 62));
      }
      const ValueIndex x = b.input(in, shape);
      const ValueIndex multiplier = b.constant(fields.scale32 ? Type::kI32 : Type::kI16, {scales}, multipliers);
      const ValueIndex shift = b.constant(Type::kI8, {scales}, shifts);
      const auto zero = [&](Type type, bool is_unsigned) {
        if (type == Type::kI16 && is_unsigned && random.coin()) return b.zero(type, -32768);
        return zero_point(b, random, type);
      };
      const ValueIndex in_zero = zero(in, fields.input_unsigned);
      const ValueIndex out_zero = zero(out, fields.output_unsigned);
      b.output(b.op(Op::kRescale, fields, {x, multiplier, shift, in_zero, out_zero}, out, shape));
      compare(b, random);
    }
  }
}

void check_elementwise(unsigned seed) {
  Random random(seed);
  struct Row {
    Op op;
    Type in, out;
  };
  const Row kRows[] = {{Op::kAdd, Type::kI32, Type::kI32},          {Op::kSub, Type::kI32, Type::kI32},
                       {Op::kMul, Type::kI32, Type::kI32},          {Op::kMul, Type::kI8, Type::kI32},
                       {Op::kMul, Type::kI16, Type::kI32},          {Op::kMaximum, Type::kI32, Type::kI32},
                       {Op::kMinimum, Type::kI32, Type::kI32},      {Op::kBitwiseAnd, Type::kI8, Type::kI8},
                       {Op::kBitwiseOr, Type::kI16, Type::kI16},    {Op::kBitwiseXor, Type::kI32, Type::kI32},
                       {Op::kLogicalAnd, Type::kBool, Type::kBool}, {Op::kLogicalOr, Type::kBool, Type::kBool},
                       {Op::kLogicalXor, Type::kBool, Type::kBool}, {Op::kEqual, Type::kI32, Type::kBool},
                       {Op::kGreater, Type::kI32, Type::kBool},     {Op::kGreaterEqual, Type::kI32, Type::kBool}};
  for (const Row& row : kRows) {
    TosaBuilder b;
    Shape left, right, out;
    const std::int32_t rank = random.below(5);
    for (std::int32_t axis = 0; axis < rank; ++axis) {
      out.push_back(random.up_to(9));
      left.push_back(random.below(4) == 0 ? 1 : out.back());
      right.push_back(random.below(4) == 0 ? 1 : out.back());
      out.back() = std::max(left.back(), right.back());
    }
    std::vector<ValueIndex> inputs{b.input(row.in, left), b.input(row.in, right)};
    if (row.op == Op::kMul) {
      inputs.push_back(b.constant(Type::kI8, {1}, {row.in == Type::kI32 && random.coin() ? random.between(1, 63) : 0}));
    }
    b.output(b.op(row.op, tosa::fields_of(row.op), inputs, row.out, out));
    compare(b, random);
  }
}

void check_shifts(unsigned seed) {
  Random random(seed);
  for (const Op op : {Op::kArithmeticRightShift, Op::kLogicalLeftShift, Op::kLogicalRightShift}) {
    for (const Type type : {Type::kI8, Type::kI16, Type::kI32}) {
      TosaBuilder b;
      const Shape shape{random.up_to(5), random.up_to(30)};
      const Shape by{random.coin() ? 1 : shape[0], shape[1]};
      const ValueIndex x = b.input(type, shape);
      Ints shifts;
      for (std::int32_t i = 0; i < by[0] * by[1]; ++i)
        shifts.push_back(random.below(static_cast<std::int32_t>(tosa::bits_of(type))));
      tosa::Fields fields = tosa::fields_of(op);
      if (auto* right = std::get_if<tosa::RightShift>(&fields)) right->round = random.coin();
      b.output(b.op(op, fields, {x, b.constant(type, by, shifts)}, type, shape));
      compare(b, random);
    }
  }
}

// Whole networks: convolutions with rescales between them, residual sums, joins and views.
void check_networks(unsigned seed) {
  Random random(seed);
  TosaBuilder b;
  std::int32_t channels = random.up_to(8), height = 6 + random.below(5), width = 6 + random.below(5);
  const std::int32_t batch = random.up_to(2);
  ValueIndex x = b.input(Type::kI8, {batch, height, width, channels});
  const auto rescale = [&](ValueIndex from, Type in, Type out, const Shape& shape) {
    Ints multipliers, shifts;
    for (std::int32_t i = 0; i < shape.back(); ++i) {
      multipliers.push_back(random.between(1 << 30, std::int64_t{0x7FFFFFFF}));
      shifts.push_back(out == Type::kI32 ? 30 : random.between(36, 40));
    }
    const ValueIndex multiplier = b.constant(Type::kI32, {shape.back()}, multipliers);
    const ValueIndex shift = b.constant(Type::kI8, {shape.back()}, shifts);
    const ValueIndex in_zero = zero_point(b, random, in);
    const ValueIndex out_zero = zero_point(b, random, out);
    return b.op(Op::kRescale, tosa::Rescale{true, tosa::Rounding::kSingle, true},
                {from, multiplier, shift, in_zero, out_zero}, out, shape);
  };
  const ConvTypes types{Type::kI8, Type::kI8, Type::kI32};
  for (int layer = 0; layer < 6; ++layer) {
    const Shape shape{batch, height, width, channels};
    const Spatial y{height, 3, 1, 1, 1, 1, height}, across{width, 3, 1, 1, 1, 1, width};
    switch (random.below(5)) {
      case 0: {
        const std::int32_t out = random.up_to(24);
        const ValueIndex sums = conv(b, random, Op::kConv2d, types, y, across, x, {out, 3, 3, channels}, out, batch);
        channels = out;
        x = rescale(sums, Type::kI32, Type::kI8, {batch, height, width, out});
        break;
      }
      case 1:
        x = rescale(conv(b, random, Op::kDepthwiseConv2d, types, y, across, x, {3, 3, channels, 1}, channels, batch),
                    Type::kI32, Type::kI8, shape);
        break;
      case 2: {
        const ValueIndex wide = rescale(x, Type::kI8, Type::kI32, shape);
        x = rescale(b.op(Op::kAdd, tosa::Nothing{}, {wide, wide}, Type::kI32, shape), Type::kI32, Type::kI8, shape);
        break;
      }
      case 3: {
        const ValueIndex flat = b.op(Op::kReshape, tosa::Nothing{}, {x, b.shape({batch, height * width, channels})},
                                     Type::kI8, {batch, height * width, channels});
        const ValueIndex turned =
            b.op(Op::kTranspose, tosa::Transpose{{0, 2, 1}}, {flat}, Type::kI8, {batch, channels, height * width});
        b.output(turned);
        x = b.op(Op::kReshape, tosa::Nothing{}, {flat, b.shape({batch, height, width, channels})}, Type::kI8, shape);
        break;
      }
      default: {
        x = b.op(Op::kConcat, tosa::Axis{3}, {x, x}, Type::kI8, {batch, height, width, 2 * channels});
        channels *= 2;
        break;
      }
    }
  }
  b.output(x);
  compare(b, random);
}

constexpr TosaLaw kLaws[] = {
    {"Convolution", check_convolution},
    {"DepthwiseConvolution", check_depthwise_convolution},
    {"DepthwiseConvolutionOfManyTaps", check_depthwise_convolution_of_many_taps},
    {"TransposedConvolution", check_transposed_convolution},
    {"MatMul", check_mat_mul},
    {"Rescale", check_rescale},
    {"Elementwise", check_elementwise},
    {"Shifts", check_shifts},
    {"Networks", check_networks},
};

}  // namespace

std::span<const TosaLaw> tosa_laws() { return kLaws; }

void PrintTo(const TosaLaw& law, std::ostream* stream) { *stream << law.name; }

}  // namespace isthmus::test
