// TOSA operators that no recorded case covers: numbers worked out by hand, and loops written apart from the kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/calls.h"
#include "support/tosa.h"

namespace isthmus::tosa_kernels_test {
namespace {

using test::integers;
using test::TosaBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using tosa::Op;
using tosa::Type;
using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();

Tensor i8(std::vector<std::int64_t> sizes, const std::vector<std::int8_t>& numbers) {
  return test::tensor<std::int8_t>(std::move(sizes), numbers);
}
Tensor i16(std::vector<std::int64_t> sizes, const std::vector<std::int16_t>& numbers) {
  return test::tensor<std::int16_t>(std::move(sizes), numbers);
}
Tensor i32(std::vector<std::int64_t> sizes, const std::vector<std::int32_t>& numbers) {
  return test::tensor<std::int32_t>(std::move(sizes), numbers);
}

// The single output.
Ints run(const TosaBuilder& b, const std::vector<Tensor>& inputs) {
  return integers(test::run_both_ways(b.graph, inputs).front());
}
std::string failure(const TosaBuilder& b, const std::vector<Tensor>& inputs) {
  const auto interpreter = tosa::Interpreter::load(b.graph);
  if (!interpreter) return interpreter.error().text();
  const auto outputs = interpreter->run(inputs);
  return outputs ? "computed" : outputs.error().text();
}

// Two inputs of the same type and shape.
TosaBuilder two(Op op, tosa::Fields fields, Type type, std::vector<std::int32_t> shape, Type out) {
  TosaBuilder b;
  const auto x = b.input(type, shape);
  const auto y = b.input(type, shape);
  b.output(b.op(op, std::move(fields), {x, y}, out, shape));
  return b;
}

TosaBuilder mat_mul(Type type, std::int32_t n, std::int32_t h, std::int32_t c, std::int32_t w, std::int64_t a_zero = 0,
                    std::int64_t b_zero = 0) {
  TosaBuilder b;
  const auto x = b.input(type, {n, h, c});
  const auto y = b.input(type, {n, c, w});
  const auto za = b.zero(type, a_zero);
  const auto zb = b.zero(type, b_zero);
  b.output(b.op(Op::kMatMul, tosa::Nothing{}, {x, y, za, zb}, type == Type::kI8 ? Type::kI32 : Type::kI48, {n, h, w}));
  return b;
}

TEST(TosaKernels, MatMulByHand) {
  // [1 2 3; 4 5 6] * [1 0; 0 1; 1 1]
  EXPECT_THAT(
      run(mat_mul(Type::kI8, 1, 2, 3, 2), {i8({1, 2, 3}, {1, 2, 3, 4, 5, 6}), i8({1, 3, 2}, {1, 0, 0, 1, 1, 1})}),
      ElementsAre(4, 5, 10, 11));
  // The same with 1 and -1 taken off: [0 1 2; 3 4 5] * [2 1; 1 2; 2 2]
  EXPECT_THAT(run(mat_mul(Type::kI8, 1, 2, 3, 2, 1, -1),
                  {i8({1, 2, 3}, {1, 2, 3, 4, 5, 6}), i8({1, 3, 2}, {1, 0, 0, 1, 1, 1})}),
              ElementsAre(5, 6, 20, 21));
  // Two batches of one number each.
  EXPECT_THAT(run(mat_mul(Type::kI8, 2, 1, 1, 1), {i8({2, 1, 1}, {-128, 127}), i8({2, 1, 1}, {-128, -128})}),
              ElementsAre(16384, -16256));
  // 3 * 2^30 needs more than 32 bits.
  EXPECT_THAT(run(mat_mul(Type::kI16, 1, 1, 3, 1),
                  {i16({1, 1, 3}, {-32768, -32768, -32768}), i16({1, 3, 1}, {-32768, -32768, -32768})}),
              ElementsAre(std::int64_t{3} << 30));
  EXPECT_THAT(
      run(mat_mul(Type::kI16, 1, 1, 2, 2), {i16({1, 1, 2}, {32767, -1}), i16({1, 2, 2}, {32767, -32768, 255, 256})}),
      ElementsAre(1073676289 - 255, -1073709056 - 256));
}

TEST(TosaKernels, MatMulAsALoop) {
  std::mt19937 random(1);
  for (int i = 0; i < 30; ++i) {
    const Type type = i % 2 == 0 ? Type::kI8 : Type::kI16;
    const auto some = [&](int max) { return static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(max)); };
    const std::int32_t n = some(3), h = some(9), c = some(i < 4 ? 700 : 40), w = some(20);
    const std::int64_t za = type == Type::kI8 ? some(200) - 100 : 0;
    const std::int64_t zb = type == Type::kI8 ? some(200) - 100 : 0;
    const TosaBuilder b = mat_mul(type, n, h, c, w, za, zb);
    const auto inputs = test::random_inputs(*tosa::Interpreter::load(b.graph), random);
    const Ints x = integers(inputs[0]);
    const Ints y = integers(inputs[1]);
    Ints expected;
    for (std::int32_t row = 0; row < n * h; ++row) {
      for (std::int32_t column = 0; column < w; ++column) {
        std::int64_t sum = 0;
        for (std::int32_t k = 0; k < c; ++k) {
          sum += (x[static_cast<std::size_t>(row * c + k)] - za) *
                 (y[static_cast<std::size_t>((row / h * c + k) * w + column)] - zb);
        }
        expected.push_back(sum);
      }
    }
    EXPECT_EQ(run(b, inputs), expected);
  }
}

TEST(TosaKernels, ConvolutionOf16BitsByHand) {
  // A line of four with weights 1, 2 and -1, padded by one in front: [0 a b] ... of [1000 -2000 30000 7].
  TosaBuilder b;
  const auto x = b.input(Type::kI16, {1, 1, 4, 1});
  const auto w = b.constant(Type::kI8, {1, 1, 3, 1}, {1, 2, -1});
  const auto bias = b.constant(Type::kI48, {1}, {std::int64_t{1} << 40});
  b.output(b.op(Op::kConv2d, tosa::Conv{{0, 0, 1, 0}, {1, 1}, {1, 1}, false, Type::kI48},
                {x, w, bias, b.zero(Type::kI16), b.zero(Type::kI8)}, Type::kI48, {1, 1, 3, 1}));
  const std::int64_t base = std::int64_t{1} << 40;
  EXPECT_THAT(run(b, {i16({1, 1, 4, 1}, {1000, -2000, 30000, 7})}),
              ElementsAre(base + 2000 + 2000, base + 1000 - 4000 - 30000, base - 2000 + 60000 - 7));
}

TEST(TosaKernels, ConvolutionOf16BitsAsALoop) {
  std::mt19937 random(2);
  for (int i = 0; i < 12; ++i) {
    const auto some = [&](int max) { return static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(max)); };
    const std::int32_t n = some(2), ih = 3 + some(5), iw = 3 + some(5), ic = some(i < 2 ? 90 : 9), oc = some(20),
                       k = some(3);
    const std::int32_t pad = k - 1;
    const std::int32_t oh = ih + pad, ow = iw + pad - (k - 1);
    TosaBuilder b;
    const auto x = b.input(Type::kI16, {n, ih, iw, ic});
    const auto w = b.input(Type::kI8, {oc, k, k, ic});
    const auto bias = b.input(Type::kI48, {oc});
    b.output(b.op(Op::kConv2d, tosa::Conv{{pad, pad, 0, pad}, {1, 1}, {1, 1}, false, Type::kI48},
                  {x, w, bias, b.zero(Type::kI16), b.zero(Type::kI8)}, Type::kI48, {n, oh, ow, oc}));
    const auto inputs = test::random_inputs(*tosa::Interpreter::load(b.graph), random);
    const Ints image = integers(inputs[0]);
    const Ints weights = integers(inputs[1]);
    const Ints biases = integers(inputs[2]);
    // Each product goes to the outputs that it belongs to, and not the other way round as in the kernels.
    Ints sums(static_cast<std::size_t>(n * oh * ow * oc), 0);
    for (std::int32_t p = 0; p < n * ih * iw * ic; ++p) {
      const std::int32_t c = p % ic, column = p / ic % iw, row = p / ic / iw % ih, batch = p / ic / iw / ih;
      for (std::int32_t q = 0; q < oc * k * k; ++q) {
        const std::int32_t kx = q % k, ky = q / k % k, o = q / k / k;
        const std::int32_t oy = row + pad - ky, ox = column - kx;
        if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
        sums[static_cast<std::size_t>(((batch * oh + oy) * ow + ox) * oc + o)] +=
            image[static_cast<std::size_t>(p)] * weights[static_cast<std::size_t>(((o * k + ky) * k + kx) * ic + c)];
      }
    }
    for (std::size_t s = 0; s < sums.size(); ++s) {
      // In 48 bits, also where the bias is near their end.
      sums[s] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[s] + biases[s % biases.size()]) << 16) >> 16;
    }
    EXPECT_EQ(run(b, inputs), sums);
  }
}

TEST(TosaKernels, WeightsOf4Bits) {
  TosaBuilder b;
  const auto x = b.input(Type::kI8, {1, 1, 1, 5});
  const auto w = b.constant(Type::kI4, {1, 1, 1, 5}, {-8, 7, -1, 0, 3});
  const auto bias = b.constant(Type::kI32, {1}, {100});
  b.output(b.op(Op::kConv2d, tosa::Conv{{0, 0, 0, 0}, {1, 1}, {1, 1}, false, Type::kI32},
                {x, w, bias, b.zero(Type::kI8, 2), b.zero(Type::kI4)}, Type::kI32, {1, 1, 1, 1}));
  EXPECT_THAT(run(b, {i8({1, 1, 1, 5}, {3, 4, 5, 6, 7})}), ElementsAre(100 - 8 + 14 - 3 + 15));
}

TosaBuilder scatter() {
  TosaBuilder b;
  const auto values = b.input(Type::kI8, {2, 3, 2});
  const auto indices = b.input(Type::kI32, {2, 2});
  const auto x = b.input(Type::kI8, {2, 2, 2});
  b.output(b.op(Op::kScatter, tosa::Nothing{}, {values, indices, x}, Type::kI8, {2, 3, 2}));
  return b;
}
TEST(TosaKernels, ScatterByHand) {
  const Tensor values = i8({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Tensor x = i8({2, 2, 2}, {-1, -2, -3, -4, -5, -6, -7, -8});
  EXPECT_THAT(run(scatter(), {values, i32({2, 2}, {2, 0, 1, 2}), x}),
              ElementsAre(-3, -4, 3, 4, -1, -2, 7, 8, -5, -6, -7, -8));
  // The last of two stays.
  EXPECT_THAT(run(scatter(), {values, i32({2, 2}, {1, 1, 0, 0}), x}),
              ElementsAre(1, 2, -3, -4, 5, 6, -7, -8, 9, 10, 11, 12));
  EXPECT_THAT(failure(scatter(), {values, i32({2, 2}, {1, 3, 0, 0}), x}),
              HasSubstr("index 3 of 3 rows\n  in SCATTER \"v3\""));
  EXPECT_THAT(failure(scatter(), {values, i32({2, 2}, {1, -1, 0, 0}), x}), HasSubstr("index -1 of 3 rows"));
}

struct Resizing {
  std::int32_t height, width, out_height, out_width, channels;
  Ints scale, offset, border;
};
TosaBuilder resize(Type type, tosa::ResizeMode mode, const Resizing& r) {
  TosaBuilder b;
  const auto x = b.input(type, {1, r.height, r.width, r.channels});
  const auto scale = b.shape(r.scale);
  const auto offset = b.shape(r.offset);
  const auto border = b.shape(r.border);
  const Type wide = type == Type::kI8 ? Type::kI32 : Type::kI48;
  b.output(b.op(Op::kResize, tosa::Resize{mode}, {x, scale, offset, border},
                mode == tosa::ResizeMode::kNearest ? type : wide, {1, r.out_height, r.out_width, r.channels}));
  return b;
}
TEST(TosaKernels, BilinearResizeByHand) {
  // Twice as large, pixels meet at their centers: quarters of two neighbours each way, so 16 times the value.
  const Resizing twice{2, 2, 4, 4, 1, {4, 2, 4, 2}, {-1, -1}, {1, 1}};
  EXPECT_THAT(run(resize(Type::kI8, tosa::ResizeMode::kBilinear, twice), {i8({1, 2, 2, 1}, {0, 10, 20, 30})}),
              ElementsAre(0, 40, 120, 160, 80, 120, 200, 240, 240, 280, 360, 400, 320, 360, 440, 480));
  EXPECT_THAT(run(resize(Type::kI8, tosa::ResizeMode::kNearest, twice), {i8({1, 2, 2, 1}, {0, 10, 20, 30})}),
              ElementsAre(0, 0, 10, 10, 0, 0, 10, 10, 20, 20, 30, 30, 20, 20, 30, 30));
  // From 3 to 2 with the corners kept: every second pixel, weights 2 * 2.
  const Resizing corners{1, 3, 1, 2, 1, {2, 2, 2, 4}, {0, 0}, {0, 0}};
  EXPECT_THAT(run(resize(Type::kI16, tosa::ResizeMode::kBilinear, corners), {i16({1, 1, 3, 1}, {-32768, 5, 32767})}),
              ElementsAre(-131072, 131068));
}
TEST(TosaKernels, ResizeAsALoop) {
  std::mt19937 random(3);
  int computed = 0;
  while (computed < 60) {
    const auto some = [&](int max) { return static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(max)); };
    Resizing r{some(7), some(7), 0, 0, some(3), {some(12), some(12), some(12), some(12)}, {}, {}};
    r.offset = {some(24) - 12, some(24) - 12};
    r.border = {some(24) - 12, some(24) - 12};
    const auto size = [&](std::int32_t in, std::size_t i) {
      const std::int64_t extent = (in - 1) * r.scale[2 * i] - r.offset[i] + r.border[i];
      return static_cast<std::int32_t>(
          extent < 0 || extent % r.scale[2 * i + 1] != 0 ? 0 : extent / r.scale[2 * i + 1] + 1);
    };
    r.out_height = size(r.height, 0);
    r.out_width = size(r.width, 1);
    if (r.out_height == 0 || r.out_width == 0) continue;
    const Type type = computed % 2 == 0 ? Type::kI8 : Type::kI16;
    const auto mode = computed % 4 < 2 ? tosa::ResizeMode::kBilinear : tosa::ResizeMode::kNearest;
    const TosaBuilder b = resize(type, mode, r);
    const auto interpreter = tosa::Interpreter::load(b.graph);
    if (!interpreter) continue;  // a scale or offset that is out of bounds
    ++computed;
    const auto inputs = test::random_inputs(*interpreter, random);
    const Ints image = integers(inputs[0]);
    const auto pixel = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
      y = std::clamp<std::int64_t>(y, 0, r.height - 1);
      x = std::clamp<std::int64_t>(x, 0, r.width - 1);
      return image[static_cast<std::size_t>((y * r.width + x) * r.channels + c)];
    };
    Ints expected;
    for (std::int64_t oy = 0; oy < r.out_height; ++oy) {
      for (std::int64_t ox = 0; ox < r.out_width; ++ox) {
        const double fy = static_cast<double>(oy * r.scale[1] + r.offset[0]) / static_cast<double>(r.scale[0]);
        const double fx = static_cast<double>(ox * r.scale[3] + r.offset[1]) / static_cast<double>(r.scale[2]);
        const auto y = static_cast<std::int64_t>(std::floor(fy)), x = static_cast<std::int64_t>(std::floor(fx));
        // Shares of the numerator; exact, since the scales are small.
        const auto dy = std::llround((fy - std::floor(fy)) * static_cast<double>(r.scale[0]));
        const auto dx = std::llround((fx - std::floor(fx)) * static_cast<double>(r.scale[2]));
        for (std::int64_t c = 0; c < r.channels; ++c) {
          if (mode == tosa::ResizeMode::kNearest) {
            expected.push_back(pixel(2 * dy >= r.scale[0] ? y + 1 : y, 2 * dx >= r.scale[2] ? x + 1 : x, c));
          } else {
            expected.push_back(pixel(y, x, c) * (r.scale[0] - dy) * (r.scale[2] - dx) +
                               pixel(y, x + 1, c) * (r.scale[0] - dy) * dx +
                               pixel(y + 1, x, c) * dy * (r.scale[2] - dx) + pixel(y + 1, x + 1, c) * dy * dx);
          }
        }
      }
    }
    EXPECT_EQ(run(b, inputs), expected);
  }
}

TEST(TosaKernels, GreaterEqualAndGather) {
  EXPECT_THAT(run(two(Op::kGreaterEqual, tosa::Nothing{}, Type::kI32, {3}, Type::kBool),
                  {i32({3}, {1, 2, 3}), i32({3}, {2, 2, 2})}),
              ElementsAre(0, 1, 1));
  TosaBuilder b;
  const auto values = b.input(Type::kI8, {1, 3, 2});
  const auto indices = b.input(Type::kI32, {1, 4});
  b.output(b.op(Op::kGather, tosa::Nothing{}, {values, indices}, Type::kI8, {1, 4, 2}));
  const Tensor x = i8({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(run(b, {x, i32({1, 4}, {2, 0, 2, 1})}), ElementsAre(5, 6, 1, 2, 5, 6, 3, 4));
  EXPECT_THAT(failure(b, {x, i32({1, 4}, {2, 0, 2, 3})}), HasSubstr("index 3 of 3 rows\n  in GATHER \"v2\""));
}

// Where the standard leaves the result open there is one nevertheless, or an error; never anything else.
TEST(TosaKernels, WhatOverflowsWrapsAround) {
  const std::int32_t min = std::numeric_limits<std::int32_t>::min();
  const std::int32_t max = std::numeric_limits<std::int32_t>::max();
  const auto of = [&](Op op, std::int32_t a, std::int32_t b) {
    return run(two(op, tosa::fields_of(op), Type::kI32, {1}, Type::kI32), {i32({1}, {a}), i32({1}, {b})});
  };
  EXPECT_THAT(of(Op::kAdd, max, 1), ElementsAre(kMin));
  EXPECT_THAT(of(Op::kSub, min, 1), ElementsAre(kMax));
  EXPECT_THAT(of(Op::kIntDiv, min, -1), ElementsAre(kMin));
  EXPECT_THAT(of(Op::kIntDiv, -7, 2), ElementsAre(-3));
  EXPECT_THAT(of(Op::kLogicalLeftShift, 3, 31), ElementsAre(kMin));
  EXPECT_THAT(of(Op::kLogicalRightShift, -1, 31), ElementsAre(1));
  EXPECT_THAT(of(Op::kArithmeticRightShift, -1, 31), ElementsAre(-1));

  TosaBuilder abs;
  abs.output(abs.op(Op::kAbs, tosa::Nothing{}, {abs.input(Type::kI32, {2})}, Type::kI32, {2}));
  EXPECT_THAT(run(abs, {i32({2}, {min, -5})}), ElementsAre(kMin, 5));

  for (const std::int64_t shift : {1, 31, 63}) {
    TosaBuilder mul;
    const auto x = mul.input(Type::kI32, {2});
    const auto y = mul.input(Type::kI32, {2});
    mul.output(mul.op(Op::kMul, tosa::Nothing{}, {x, y, mul.constant(Type::kI8, {1}, {shift})}, Type::kI32, {2}));
    const auto wrapped = [](std::int64_t number) { return std::int64_t{static_cast<std::int32_t>(number)}; };
    const std::int64_t product = std::int64_t{1} << 62;
    EXPECT_THAT(run(mul, {i32({2}, {min, 3}), i32({2}, {min, 5})}),
                ElementsAre(wrapped(((product >> (shift - 1)) + 1) >> 1),
                            wrapped(((std::int64_t{15} >> (shift - 1)) + 1) >> 1)));
  }
}

TEST(TosaKernels, WhatHasNoResultIsAnError) {
  const auto of = [&](Op op, Type type, const Tensor& a, const Tensor& b) {
    return failure(two(op, tosa::fields_of(op), type, {1}, type), {a, b});
  };
  EXPECT_THAT(of(Op::kIntDiv, Type::kI32, i32({1}, {1}), i32({1}, {0})),
              HasSubstr("a division by 0\n  in INTDIV \"v2\""));
  EXPECT_THAT(of(Op::kLogicalLeftShift, Type::kI32, i32({1}, {1}), i32({1}, {32})), HasSubstr("a shift by 32"));
  EXPECT_THAT(of(Op::kLogicalRightShift, Type::kI8, i8({1}, {1}), i8({1}, {8})), HasSubstr("a shift by 8"));
  EXPECT_THAT(of(Op::kArithmeticRightShift, Type::kI16, i16({1}, {1}), i16({1}, {-1})), HasSubstr("a shift by -1"));
}

// A multiplier of 32 bits takes numbers below half of 2^shift, one of 16 bits gives results of 32 bits.
TEST(TosaKernels, RescaleRefusesWhatTosaLeavesUndefined) {
  const auto rescale = [](Type in, bool scale32, std::int64_t multiplier, std::int64_t shift) {
    TosaBuilder b;
    const auto x = b.input(in, {2});
    b.output(b.op(Op::kRescale, tosa::Rescale{scale32, tosa::Rounding::kSingle, false},
                  {x, b.constant(scale32 ? Type::kI32 : Type::kI16, {1}, {multiplier}),
                   b.constant(Type::kI8, {1}, {shift}), b.zero(in, 0), b.zero(Type::kI8, 0)},
                  Type::kI8, {2}));
    return b;
  };
  const TosaBuilder wide = rescale(Type::kI32, true, 1 << 30, 20);
  EXPECT_THAT(run(wide, {i32({2}, {-(1 << 19), (1 << 19) - 1})}), ElementsAre(-128, 127));
  EXPECT_THAT(failure(wide, {i32({2}, {0, 1 << 19})}),
              HasSubstr("element 1 is 524288, and TOSA leaves its product with 1073741824 / 2^20 undefined: it takes "
                        "numbers below 2^19\n  in RESCALE"));
  EXPECT_THAT(failure(wide, {i32({2}, {-(1 << 19) - 1, 0})}), HasSubstr("element 0 is -524289"));
  const TosaBuilder narrow = rescale(Type::kI32, false, 1 << 14, 2);
  EXPECT_THAT(run(narrow, {i32({2}, {-(1 << 19), (1 << 19) - 1})}), ElementsAre(-128, 127));
  EXPECT_THAT(failure(narrow, {i32({2}, {0, 1 << 19})}), HasSubstr("the result has more than 32 bits"));
  const auto plain = tosa::Interpreter::load(wide.graph, {.kernels = tosa::Kernels::kPlain});
  EXPECT_FALSE(plain->run(std::vector{i32({2}, {0, 1 << 19})}));
}

TEST(TosaKernels, InputsAreWhatTheGraphSays) {
  const TosaBuilder b = two(Op::kAdd, tosa::Nothing{}, Type::kI32, {2}, Type::kI32);
  EXPECT_THAT(failure(b, {i32({2}, {1, 2})}), HasSubstr("1 inputs are given, but the graph has 2"));
  EXPECT_THAT(failure(b, {i32({2}, {1, 2}), i16({2}, {1, 2})}),
              HasSubstr("input 1 \"v1\" is i32[2], but i16[2] is given"));
  EXPECT_THAT(failure(b, {i32({2}, {1, 2}), i32({1, 2}, {1, 2})}), HasSubstr("but i32[1,2] is given"));
}

// u8 is welcome where nothing reads the bytes as signed.
TEST(TosaKernels, UnsignedInputs) {
  TosaBuilder b;
  const auto x = b.input(Type::kI8, {3});
  const auto multiplier = b.constant(Type::kI32, {1}, {1 << 30});
  const auto shift = b.constant(Type::kI8, {1}, {30});
  const auto in_zero = b.zero(Type::kI8, -128);  // the bits of 128
  const auto out_zero = b.zero(Type::kI8, 0);
  b.output(b.op(Op::kRescale, tosa::Rescale{true, tosa::Rounding::kSingle, false, true, false},
                {x, multiplier, shift, in_zero, out_zero}, Type::kI8, {3}));
  EXPECT_THAT(run(b, {test::tensor<std::uint8_t>({3}, {0, 128, 255})}), ElementsAre(-128, 0, 127));
  EXPECT_THAT(run(b, {i8({3}, {0, -128, -1})}), ElementsAre(-128, 0, 127));
  b.output(b.op(Op::kIdentity, tosa::Nothing{}, {x}, Type::kI8, {3}));
  EXPECT_THAT(failure(b, {test::tensor<std::uint8_t>({3}, {0, 128, 255})}), HasSubstr("but u8[3] is given"));
}

TEST(TosaKernels, SamplesOnThreadsAreAsOneByOne) {
  std::mt19937 random(4);
  const TosaBuilder b = mat_mul(Type::kI8, 1, 3, 17, 5, 3, -4);
  const auto interpreter = tosa::Interpreter::load(b.graph);
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 9; ++i) samples.push_back(test::random_inputs(*interpreter, random));
  const auto together = interpreter->run_each(samples);
  ASSERT_TRUE(together.has_value());
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(integers((*together)[i][0]), run(b, samples[i]));
  samples[5].pop_back();
  EXPECT_THAT(interpreter->run_each(samples).error().text(), HasSubstr("1 inputs are given"));
}

}  // namespace
}  // namespace isthmus::tosa_kernels_test
