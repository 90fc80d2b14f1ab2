// Integer kernels behind TOSA, which are forms run by its interpreter: against formulas written down here, and
// composites against double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "interpret/kernel.h"
#include "interpret/quantized_types.h"
#include "support/calls.h"
#include "support/quantized_tensors.h"
#include "targets/ethos_u/forms/constants.h"
#include "targets/ethos_u/integer_kernels.h"

namespace isthmus::integer_tosa_test {
namespace {

using ethos_u::Device;
using ethos_u::function_table;
using ethos_u::integer_kernels;
using ethos_u::Multiplier;
using ethos_u::multiplier_of;
using ethos_u::ScaleBits;
using test::Chance;
using test::QuantizedTensor;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

QuantizedTensor zeros(std::vector<std::int64_t> sizes, Quant quant, DType dtype = DType::kI8) {
  return {Tensor(dtype, std::move(sizes)), std::move(quant)};
}
const IntegerKernels& kernels() { return integer_kernels(Device::kTosaInt); }
QuantizedTensor computed(Op op, const Attrs& attrs, const std::vector<QuantizedTensor>& inputs,
                         const QuantizedTensor& like) {
  return {test::compute_quantized(kernels(), op, attrs, inputs, like.type()), like.quant};
}
std::vector<std::int64_t> values_of(const QuantizedTensor& value) {
  std::vector<std::int64_t> result;
  dispatch(value.tensor.dtype(), [&]<class Number>(Number) {
    for (const Number number : value.tensor.data<Number>()) result.push_back(static_cast<std::int64_t>(number));
  });
  return result;
}
std::int64_t saturated(std::int64_t q, DType dtype) {
  return dtype == DType::kI16 ? std::clamp<std::int64_t>(q, -32768, 32767) : std::clamp<std::int64_t>(q, -128, 127);
}

// RESCALE by the book: a multiplier with this many bits, one rounding, halves up.
std::int64_t rescaled(std::int64_t value, double factor, int digits = 31) {
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);
  double multiplier = std::nearbyint(std::ldexp(mantissa, digits));
  int shift = digits - exponent;
  if (multiplier == std::ldexp(1, digits)) {
    multiplier /= 2;
    --shift;
  }
  const auto product = static_cast<long double>(value) * static_cast<long double>(multiplier);
  return static_cast<std::int64_t>(std::floor(product / std::ldexp(1.0L, shift) + 0.5L));
}

double scale_of(const QuantizedTensor& value) { return static_cast<double>(value.quant->scale()); }

// How far quantized values are from what the numbers should be, in steps of the quantized values; what saturates is
// right.
double error_in_steps(const QuantizedTensor& quantized, const std::vector<double>& expected) {
  const auto numbers = values_of(quantized);
  double max = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double exact = expected[i] / scale_of(quantized) + quantized.quant->zero_point;
    const double min = quantized.tensor.dtype() == DType::kI16 ? -32768 : -128;
    max = std::max(max, std::abs(std::clamp(exact, min, -min - 1) - static_cast<double>(numbers[i])));
  }
  return max;
}

TEST(IntegerTosa, Multipliers) {
  EXPECT_EQ(multiplier_of(1, ScaleBits::k31), (Multiplier{1 << 30, 30}));
  EXPECT_EQ(multiplier_of(0.5, ScaleBits::k15), (Multiplier{1 << 14, 15}));
  EXPECT_EQ(multiplier_of(1 - 0x1p-40, ScaleBits::k31), (Multiplier{1 << 30, 30}));
  EXPECT_EQ(multiplier_of(0x1p-31, ScaleBits::k31), (Multiplier{1 << 30, 61}));
  EXPECT_EQ(multiplier_of(0x1p-33, ScaleBits::k31), (Multiplier{1 << 29, 62}));
  EXPECT_EQ(multiplier_of(0x1p-80, ScaleBits::k31)->multiplier, 0);
  EXPECT_EQ(multiplier_of(0, ScaleBits::k31)->multiplier, 0);
  EXPECT_EQ(multiplier_of(0x1p28, ScaleBits::k31)->shift, 2);
  EXPECT_FALSE(multiplier_of(0x1p29, ScaleBits::k31));
  EXPECT_FALSE(multiplier_of(0x1p13, ScaleBits::k15));
  EXPECT_FALSE(multiplier_of(-1, ScaleBits::k31));
  EXPECT_FALSE(multiplier_of(std::nan(""), ScaleBits::k31));
  const Multiplier half{1 << 30, 31};
  EXPECT_EQ(half.apply(3), 2);
  EXPECT_EQ(half.apply(-3), -1);  // halves go up
}

TEST(IntegerTosa, Rescale) {
  Chance chance(1);
  for (int round = 0; round < 200; ++round) {
    const DType from = chance.coin() ? DType::kI8 : DType::kI16;
    const DType to = chance.coin() ? DType::kI8 : DType::kI16;
    const float scale = chance.scale(1e-4, 1e2);
    const QuantizedTensor x{chance.quantized({300}, from), chance.quant(scale, from)};
    const float min = std::max(1e-4F, scale * 0x1p-12F);  // RESCALE takes no larger ratio of values of 16 bits
    const QuantizedTensor y =
        computed(Op::kRescale, NoAttrs{}, {x}, zeros({300}, chance.quant(chance.scale(min, 1e2), to), to));
    const auto quantized = values_of(x);
    const auto results = values_of(y);
    for (std::size_t i = 0; i < quantized.size(); ++i) {
      const std::int64_t expected =
          rescaled(quantized[i] - x.quant->zero_point, scale_of(x) / scale_of(y)) + y.quant->zero_point;
      ASSERT_EQ(results[i], saturated(expected, to));
    }
  }
}

struct Pair {
  QuantizedTensor a, b, y;
};
Pair some_pair(Chance& chance, DType dtype, DType second) {
  const float scale = chance.scale(1e-3, 1e1);
  return {{chance.quantized({20, 30}, dtype), chance.quant(scale, dtype)},
          {chance.quantized({1, 30}, second), chance.quant(scale * chance.scale(0.05, 20), second)},
          zeros({20, 30}, chance.quant(scale * chance.scale(0.5, 20), dtype), dtype)};
}
// Each of both widths beside each, round by round.
std::pair<DType, DType> some_widths(int round) {
  return {round % 2 == 0 ? DType::kI8 : DType::kI16, round / 2 % 2 == 0 ? DType::kI8 : DType::kI16};
}

TEST(IntegerTosa, PairsInOneScale) {
  Chance chance(2);
  const std::pair<Op, std::function<std::int64_t(std::int64_t, std::int64_t)>> rows[] = {
      {Op::kAdd, std::plus<>()},
      {Op::kSub, std::minus<>()},
      {Op::kMinimum, [](auto a, auto b) { return std::min(a, b); }},
      {Op::kMaximum, [](auto a, auto b) { return std::max(a, b); }},
  };
  for (const auto& [op, apply] : rows) {
    for (int round = 0; round < 60; ++round) {
      const auto [dtype, second] = some_widths(round);
      Pair pair = some_pair(chance, dtype, second);
      pair.y = computed(op, NoAttrs{}, {pair.a, pair.b}, pair.y);
      // Beside 16 bits, 8 bits become 16 first.
      const auto gain = [&](DType of) { return of == DType::kI8 && wider(dtype, second) == DType::kI16 ? 128 : 1; };
      const double a_scale = scale_of(pair.a) / gain(dtype), b_scale = scale_of(pair.b) / gain(second);
      const double unit = std::max(a_scale, b_scale) / (wider(dtype, second) == DType::kI8 ? 1 << 19 : 1 << 14);
      const auto a = values_of(pair.a), b = values_of(pair.b), y = values_of(pair.y);
      double max = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::int64_t left = (a[i] - pair.a.quant->zero_point) * gain(dtype);
        const std::int64_t right = (b[i % 30] - pair.b.quant->zero_point) * gain(second);
        const std::int64_t sum = apply(rescaled(left, a_scale / unit), rescaled(right, b_scale / unit));
        ASSERT_EQ(y[i], saturated(rescaled(sum, unit / scale_of(pair.y)) + pair.y.quant->zero_point, dtype));
        // And close to the truth: the 19 or 14 bits cost next to nothing.
        const double exact = op == Op::kAdd ? static_cast<double>(left) * a_scale + static_cast<double>(right) * b_scale
                             : op == Op::kSub
                                 ? static_cast<double>(left) * a_scale - static_cast<double>(right) * b_scale
                                 : static_cast<double>(sum) * unit;
        const double q = exact / scale_of(pair.y) + pair.y.quant->zero_point;
        if (std::abs(q) < 127) max = std::max(max, std::abs(q - static_cast<double>(y[i])));
      }
      EXPECT_LT(max, 0.502);
    }
  }
}

TEST(IntegerTosa, Products) {
  Chance chance(3);
  for (int round = 0; round < 60; ++round) {
    const auto [dtype, second] = some_widths(round);
    Pair pair = some_pair(chance, dtype, second);
    pair.y.quant->scales[0] = static_cast<float>(scale_of(pair.a) * scale_of(pair.b) * 100);
    pair.y = computed(Op::kMul, NoAttrs{}, {pair.a, pair.b}, pair.y);
    const auto a = values_of(pair.a), b = values_of(pair.b), y = values_of(pair.y);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::int64_t product = (a[i] - pair.a.quant->zero_point) * (b[i % 30] - pair.b.quant->zero_point);
      const double factor = scale_of(pair.a) * scale_of(pair.b) / scale_of(pair.y);
      ASSERT_EQ(y[i], saturated(rescaled(product, factor) + pair.y.quant->zero_point, dtype));
    }
  }
}

// Beyond what RESCALE takes, as below.
TEST(IntegerTosa, ProductsThatSaturate) {
  const QuantizedTensor x{test::tensor<std::int16_t>({1, 4}, {32767, -32768, 100, -1}), Quant{{1.0F}, 0}};
  const QuantizedTensor like = zeros({1, 4}, Quant{{0.5F}, 0}, DType::kI16);
  EXPECT_EQ(values_of(computed(Op::kMul, NoAttrs{}, {x, x}, like)),
            (std::vector<std::int64_t>{32767, 32767, 20000, 2}));
}

TEST(IntegerTosa, Quotients) {
  Chance chance(14);
  for (int round = 0; round < 60; ++round) {
    const auto [dtype, second] = some_widths(round);
    Pair pair = some_pair(chance, dtype, second);
    const double largest = scale_of(pair.a) / scale_of(pair.b) * (dtype == DType::kI8 ? 255 : 32767);
    pair.y.quant->scales[0] = static_cast<float>(largest * chance.real(0.0002, 0.008));
    pair.y = computed(Op::kDiv, NoAttrs{}, {pair.a, pair.b}, pair.y);
    const auto a = test::meant(pair.a), b = test::meant(pair.b);
    std::vector<double> expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Zero is the smallest divisor that there is.
      expected.push_back(a[i] / (b[i % 30] == 0 ? scale_of(pair.b) : b[i % 30]));
    }
    EXPECT_LE(error_in_steps(pair.y, expected), 0.51);
  }
}

// Beyond what RESCALE takes: nothing of it is left to chance.
TEST(IntegerTosa, QuotientsThatSaturate) {
  const QuantizedTensor a{test::tensor<std::int8_t>({1, 3}, {127, -128, 0}), Quant{{1.0F}, 0}};
  const QuantizedTensor b{test::tensor<std::int8_t>({1, 3}, {1, 1, 1}), Quant{{0.001F}, 0}};
  const QuantizedTensor y = computed(Op::kDiv, NoAttrs{}, {a, b}, zeros({1, 3}, Quant{{1e-5F}, 0}));
  EXPECT_EQ(values_of(y), (std::vector<std::int64_t>{127, -128, 0}));
}

TEST(IntegerTosa, Comparisons) {
  Chance chance(4);
  const std::pair<Op, std::function<bool(double, double)>> rows[] = {
      {Op::kEq, std::equal_to<>()},   {Op::kNe, std::not_equal_to<>()}, {Op::kLt, std::less<>()},
      {Op::kLe, std::less_equal<>()}, {Op::kGt, std::greater<>()},      {Op::kGe, std::greater_equal<>()},
  };
  for (const auto& [op, apply] : rows) {
    for (int round = 0; round < 4; ++round) {
      const auto [dtype, second] = some_widths(round);
      Pair pair = some_pair(chance, dtype, second);
      pair.a.quant->zero_point = 0;
      pair.b.quant = pair.a.quant;  // so that equal quantized values are equal numbers
      const QuantizedTensor y = computed(op, NoAttrs{}, {pair.a, pair.b}, {Tensor(DType::kBool, {20, 30})});
      const auto a = test::meant(pair.a), b = test::meant(pair.b);
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(y.tensor.data<std::uint8_t>()[i] != 0, apply(a[i], b[i % 30])) << name_of(op);
      }
    }
  }
}

// Everything that sums products: the formula in 64 bits.
TEST(IntegerTosa, Layers) {
  Chance chance(5);
  for (int round = 0; round < 120; ++round) {
    const DType dtype = round % 2 == 0 ? DType::kI8 : DType::kI16;
    const std::int64_t groups = round % 3 == 0 ? 3 : 1, outer = chance.integer(1, 4);
    const std::int64_t inner = groups > 1 ? 1 : chance.integer(1, 5);
    const Ints stride{chance.integer(1, 2), 1}, dilation{1, chance.integer(1, 2)}, padding{1, 0, 0, 2};
    const std::vector<std::int64_t> in{2, groups * inner, 6, 7}, kernel{3, 2};
    std::vector<std::int64_t> out{2, groups * outer};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
      out.push_back((in[i + 2] + padding[2 * i] + padding[2 * i + 1] - reach) / stride[i] + 1);
    }
    const QuantizedTensor x{chance.quantized(in, dtype), chance.quant(0.1f, dtype)};
    QuantizedTensor w{chance.quantized({groups * outer, inner, 3, 2}), Quant{{}, 0, 0}};
    QuantizedTensor bias{Tensor(DType::kI32, {groups * outer}), Quant{{}, 0, 0}};
    for (std::int64_t c = 0; c < groups * outer; ++c) {
      w.quant->scales.push_back(chance.scale(0.01, 0.1));
      bias.quant->scales.push_back(w.quant->scales.back() * 0.1f);
      bias.tensor.mutable_data<std::int32_t>()[at(c)] = static_cast<std::int32_t>(chance.integer(-9999, 9999));
    }
    const float result_scale = chance.scale(0.1, 2) * (dtype == DType::kI16 ? 0.05f : 1.0f);
    const QuantizedTensor y = computed(Op::kConv2d, ConvAttrs{stride, padding, dilation, groups}, {x, w, bias},
                                       zeros(out, chance.quant(result_scale, dtype), dtype));
    const auto quantized = values_of(x), weights = values_of(w), offsets = values_of(bias), results = values_of(y);
    for (std::int64_t i = 0; i < y.tensor.count(); ++i) {
      const std::int64_t px = i % out[3], py = i / out[3] % out[2], c = i / out[3] / out[2] % out[1];
      const std::int64_t n = i / out[3] / out[2] / out[1];
      std::int64_t sum = offsets[at(c)];
      for (std::int64_t k = 0; k < inner; ++k) {
        for (std::int64_t ky = 0; ky < 3; ++ky) {
          for (std::int64_t kx = 0; kx < 2; ++kx) {
            const std::int64_t sy = py * stride[0] - padding[0] + ky * dilation[0];
            const std::int64_t sx = px * stride[1] - padding[2] + kx * dilation[1];
            if (sy < 0 || sy >= in[2] || sx < 0 || sx >= in[3]) continue;
            const std::int64_t channel = c / outer * inner + k;
            sum += (quantized[at(((n * in[1] + channel) * in[2] + sy) * in[3] + sx)] - x.quant->zero_point) *
                   weights[at(((c * inner + k) * 3 + ky) * 2 + kx)];
          }
        }
      }
      const double factor = scale_of(x) * static_cast<double>(w.quant->scales[at(c)]) / scale_of(y);
      const std::int64_t expected = rescaled(sum, factor, dtype == DType::kI16 ? 15 : 31) + y.quant->zero_point;
      ASSERT_EQ(results[at(i)], saturated(expected, dtype));
    }
  }
}

TEST(IntegerTosa, Matmul) {
  Chance chance(6);
  for (int round = 0; round < 40; ++round) {
    const DType dtype = round % 2 == 0 ? DType::kI8 : DType::kI16;
    const QuantizedTensor a{chance.quantized({3, 4, 40}, dtype), chance.quant(0.1f, dtype)};
    const QuantizedTensor b{chance.quantized({3, 40, 5}, dtype), chance.quant(0.02f, dtype)};
    const QuantizedTensor y =
        computed(Op::kMatmul, NoAttrs{}, {a, b},
                 zeros({3, 4, 5}, chance.quant(dtype == DType::kI8 ? 0.9f : 50.0f, dtype), dtype));
    const auto left = values_of(a), right = values_of(b), results = values_of(y);
    for (std::int64_t i = 0; i < y.tensor.count(); ++i) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < 40; ++k) {
        sum += (left[at(i / 5 * 40 + k)] - a.quant->zero_point) *
               (right[at((i / 20 * 40 + k) * 5 + i % 5)] - b.quant->zero_point);
      }
      const double factor = scale_of(a) * scale_of(b) / scale_of(y);
      const std::int64_t expected = rescaled(sum, factor, dtype == DType::kI16 ? 15 : 31) + y.quant->zero_point;
      ASSERT_EQ(results[at(i)], saturated(expected, dtype));
    }
  }
}

TEST(IntegerTosa, SumsAndMeans) {
  Chance chance(7);
  for (int round = 0; round < 40; ++round) {
    const DType dtype = round % 2 == 0 ? DType::kI8 : DType::kI16;
    const QuantizedTensor x{chance.quantized({3, 5, 7}, dtype), chance.quant(0.1f, dtype)};
    for (const Op op : {Op::kSum, Op::kMean}) {
      const double divisor = op == Op::kMean ? 21 : 1;
      const float scale = op == Op::kMean ? 0.02f : 0.3f;
      const QuantizedTensor y =
          computed(op, ReduceAttrs{{0, 2}, true}, {x}, zeros({1, 5, 1}, chance.quant(scale, dtype), dtype));
      const auto quantized = values_of(x), results = values_of(y);
      for (std::int64_t j = 0; j < 5; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < 21; ++i) sum += quantized[at(i / 7 * 35 + j * 7 + i % 7)] - x.quant->zero_point;
        const std::int64_t expected = rescaled(sum, scale_of(x) / (divisor * scale_of(y))) + y.quant->zero_point;
        ASSERT_EQ(results[at(j)], saturated(expected, dtype));
      }
    }
  }
}

TEST(IntegerTosa, AveragePools) {
  Chance chance(8);
  for (const DType dtype : {DType::kI8, DType::kI16}) {
    const QuantizedTensor x{chance.quantized({2, 3, 6, 7}, dtype), chance.quant(0.1f, dtype)};
    const AvgPoolAttrs attrs{{3, 3}, {2, 2}, {1, 1, 1, 1}, false, false};
    const QuantizedTensor y = computed(Op::kAvgPool2d, attrs, {x}, zeros({2, 3, 3, 4}, *x.quant, dtype));
    const auto quantized = values_of(x), results = values_of(y);
    for (std::int64_t i = 0; i < y.tensor.count(); ++i) {
      std::int64_t sum = 0, count = 0;
      for (std::int64_t k = 0; k < 9; ++k) {
        const std::int64_t sy = i / 4 % 3 * 2 - 1 + k / 3, sx = i % 4 * 2 - 1 + k % 3;
        if (sy < 0 || sy >= 6 || sx < 0 || sx >= 7) continue;
        sum += quantized[at((i / 12 * 6 + sy) * 7 + sx)] - x.quant->zero_point;
        ++count;
      }
      const double mean = static_cast<double>(sum) / static_cast<double>(count);
      // The reciprocal is a little too large, so that halves go away from zero.
      EXPECT_EQ(results[at(i)], static_cast<std::int64_t>(std::round(mean)) + x.quant->zero_point);
    }
  }
}

TEST(IntegerTosa, Resize) {
  Chance chance(9);
  int tested = 0;
  for (int round = 0; round < 200; ++round) {
    const DType dtype = round % 2 == 0 ? DType::kI8 : DType::kI16;
    const std::vector<std::int64_t> in{1, 2, chance.integer(1, 9), chance.integer(1, 9)};
    const std::vector<std::int64_t> out{1, 2, chance.integer(1, 25), chance.integer(1, 25)};
    const ResizeMode mode = round % 3 == 0   ? ResizeMode::kNearest
                            : round % 3 == 1 ? ResizeMode::kNearestExact
                                             : ResizeMode::kLinear;
    const ResizeAttrs attrs{mode, {out[2], out[3]}, {}, mode == ResizeMode::kLinear && chance.coin()};
    const QuantizedTensor x{chance.quantized(in, dtype), chance.quant(0.1f, dtype)};
    const QuantizedTensor like = zeros(out, *x.quant, dtype);
    // One pixel for many has a border that TOSA does not take.
    if (!test::kernel_refusal(kernels(), Op::kResize2d, attrs, {x}, like.type()).empty()) continue;
    ++tested;
    const QuantizedTensor y = computed(Op::kResize2d, attrs, {x}, like);
    Tensor numbers(DType::kF64, in);
    std::ranges::copy(test::meant(x), numbers.mutable_data<double>().begin());
    const auto expected = run_kernel(Op::kResize2d, {std::span(&numbers, 1), Attrs(attrs), DType::kF64, out});
    const auto values = expected->data<double>();
    const double bound = mode != ResizeMode::kLinear ? 1e-6 : dtype == DType::kI8 ? 0.5001 : 1.01;
    EXPECT_LE(error_in_steps(y, {values.begin(), values.end()}), bound) << static_cast<int>(mode);
  }
  EXPECT_GT(tested, 150);
}

Tensor all_values(DType dtype) {
  if (dtype == DType::kI8) {
    Tensor tensor(dtype, {256});
    for (std::size_t i = 0; i < 256; ++i) tensor.mutable_bytes()[i] = static_cast<std::byte>(i);
    return tensor;
  }
  Tensor tensor(dtype, {65536});
  for (std::size_t i = 0; i < 65536; ++i) {
    tensor.mutable_data<std::int16_t>()[i] = static_cast<std::int16_t>(static_cast<std::int64_t>(i) - 32768);
  }
  return tensor;
}

TEST(IntegerTosa, Functions) {
  struct Row {
    Op op;
    double (*function)(double);
    double in, out;  // ranges
    Attrs attrs = NoAttrs{};
  };
  const Row rows[] = {
      {Op::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 8, 1},
      {Op::kTanh, [](double x) { return std::tanh(x); }, 4, 1},
      {Op::kExp, [](double x) { return std::exp(x); }, 2, 8},
      {Op::kGelu, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }, 6, 6, GeluAttrs{}},
      {Op::kSilu, [](double x) { return x / (1 + std::exp(-x)); }, 6, 6},
      {Op::kLeakyRelu, [](double x) { return x > 0 ? x : 0.25 * x; }, 6, 6, SlopeAttrs{0.25}},
      {Op::kNeg, [](double x) { return -x; }, 3, 4},
      {Op::kErf, [](double x) { return std::erf(x); }, 3, 1},
  };
  for (const Row& row : rows) {
    for (const DType from : {DType::kI8, DType::kI16}) {
      for (const DType to : {DType::kI8, DType::kI16}) {
        const auto scale = [](double range, DType dtype) {
          return static_cast<float>(range / (dtype == DType::kI8 ? 127 : 32767));
        };
        const QuantizedTensor x{all_values(from), Quant{{scale(row.in, from)}, from == DType::kI8 ? 5 : 0}};
        const QuantizedTensor like =
            zeros(x.tensor.sizes(), Quant{{scale(row.out, to)}, to == DType::kI8 ? -3 : 0}, to);
        const QuantizedTensor y = computed(row.op, row.attrs, {x}, like);
        std::vector<double> expected;
        for (const double number : test::meant(x)) expected.push_back(row.function(number));
        // Between two entries lies a line.
        const double bound = from == DType::kI8 ? 0.5001 : to == DType::kI8 ? 0.53 : 2.5;
        EXPECT_LE(error_in_steps(y, expected), bound) << name_of(row.op) << " " << name_of(from) << name_of(to);
      }
    }
  }
}

TEST(IntegerTosa, PowersWithAKnownExponent) {
  const QuantizedTensor x{all_values(DType::kI8), Quant{{0.05f}, 4}};
  Graph graph;
  const ValueId in = graph.add_input("x", x.type());
  // 127 * (2 / 127) is not quite 2.
  QuantizedTensor exponent = zeros({1}, Quant{{2.0f / 127}, 0});
  exponent.tensor.mutable_data<std::int8_t>()[0] = 127;
  const ValueId known = graph.add_constant("e", exponent.type(), {{}, exponent.tensor.view(), {}});
  QuantizedTensor y = zeros({256}, Quant{{0.2f}, -128});
  graph.add_node(Op::kPow, NoAttrs{}, {in, known}, {{"y", y.type()}}, {});
  graph.add_output({graph.nodes()[0].outputs[0], OutputKind::kResult, {}});
  const auto results = interpret_integers(graph, std::span(&x.tensor, 1), kernels());
  ASSERT_TRUE(results.has_value()) << results.error().text();
  y.tensor = *(*results)[0];
  std::vector<double> expected = test::meant(x);
  for (double& number : expected) number *= number;
  EXPECT_LE(error_in_steps(y, expected), 0.5001);
}

// A step from the least to the greatest value within one segment still is a table that TOSA takes.
TEST(IntegerTosa, SlopesOfTablesFit) {
  const TensorType type{DType::kI16, {4}, Quant{{1.0f / 32767}}};
  const auto table = function_table(Op::kSign, NoAttrs{}, type, type);
  ASSERT_TRUE(table.has_value());
  for (std::size_t i = 1; i < 513; ++i) {
    EXPECT_LE(std::abs(table->wide.entries[i] - table->wide.entries[i - 1]), 32767);
  }
  EXPECT_NEAR(static_cast<double>(table->result.apply(table->wide(20000) / 128)), 32767, 2);
  EXPECT_NEAR(static_cast<double>(table->result.apply(table->wide(-20000) / 128)), -32767, 2);
}

// 255 times a scale of 1 / 255 is a hair above 1 in floats: its ceil is 1.
TEST(IntegerTosa, StepsAreWhereTheNumbersMeantAre) {
  const TensorType from{DType::kI8, {4}, Quant{{1.0f / 255}, -128}};
  const TensorType to{DType::kI8, {4}, Quant{{2.0f / 255}, -128}};
  const auto table = function_table(Op::kCeil, NoAttrs{}, from, to);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->narrow.front(), -128);
  for (std::size_t i = 1; i < table->narrow.size(); ++i) EXPECT_EQ(table->narrow[i], table->narrow[1]) << i;
}

TEST(IntegerTosa, Clamp) {
  for (const DType dtype : {DType::kI8, DType::kI16}) {
    const QuantizedTensor x{all_values(dtype), Quant{{0.01f}, 0}};
    const QuantizedTensor y =
        computed(Op::kClamp, ClampAttrs{-0.254, 0.5}, {x}, zeros(x.tensor.sizes(), *x.quant, dtype));
    const auto quantized = values_of(x), results = values_of(y);
    for (std::size_t i = 0; i < quantized.size(); ++i)
      ASSERT_EQ(results[i], std::clamp<std::int64_t>(quantized[i], -25, 50));
  }
}

std::vector<double> row_softmax(std::vector<double> row, bool is_log) {
  const double max = *std::ranges::max_element(row);
  double sum = 0;
  for (const double x : row) sum += std::exp(x - max);
  for (double& x : row) x = is_log ? x - max - std::log(sum) : std::exp(x - max) / sum;
  return row;
}

// Quantized values as networks have them: between the ends of their range, some rows narrow, some with one peak.
QuantizedTensor quantized_rows(Chance& chance, std::int64_t rows, std::int64_t length, Quant quant, DType dtype) {
  QuantizedTensor result{Tensor(dtype, {rows, length}), std::move(quant)};
  const double range = dtype == DType::kI16 ? 32767 : 127;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double spread = range * std::exp2(-chance.real(0, dtype == DType::kI16 ? 15 : 7));
    const double middle = chance.real(-range + spread, range - spread);
    for (std::int64_t j = 0; j < length; ++j) {
      const double q = std::nearbyint(middle + chance.real(-spread, spread));
      const bool is_peak = i % 4 == 3 && j == 1;
      dispatch(dtype, [&]<class Number>(Number) {
        if constexpr (sizeof(Number) <= 2) {
          result.tensor.mutable_data<Number>()[at(i * length + j)] = static_cast<Number>(is_peak ? range : q);
        }
      });
    }
  }
  return result;
}

template <class Function>
double worst_row(const QuantizedTensor& x, const QuantizedTensor& y, Function function) {
  const auto numbers = test::meant(x);
  const auto length = x.tensor.size(1);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < x.tensor.size(0); ++i) {
    const auto row = function(std::vector<double>(numbers.begin() + i * length, numbers.begin() + (i + 1) * length));
    expected.insert(expected.end(), row.begin(), row.end());
  }
  return error_in_steps(y, expected);
}

TEST(IntegerTosa, Softmax) {
  Chance chance(10);
  double max[2][2] = {};
  for (int round = 0; round < 200; ++round) {
    const DType from = round % 2 == 0 ? DType::kI8 : DType::kI16;
    const DType to = round / 2 % 2 == 0 ? DType::kI8 : DType::kI16;
    const auto length = static_cast<std::int64_t>(chance.scale(1, 1200));
    const float range = chance.scale(0.5, 60);
    const Quant quant{{range / (from == DType::kI8 ? 127.0f : 32767.0f)}, from == DType::kI8 ? -7 : 0};
    const QuantizedTensor x = quantized_rows(chance, 8, length, quant, from);
    const Quant result = to == DType::kI8 ? Quant{{1.0f / 256}, -128} : Quant{{1.0f / 32768}};
    const QuantizedTensor y = computed(Op::kSoftmax, AxisAttrs{1}, {x}, zeros(x.tensor.sizes(), result, to));
    const double error = worst_row(x, y, [](const auto& row) { return row_softmax(row, false); });
    double& worst = max[from == DType::kI8 ? 0 : 1][to == DType::kI8 ? 0 : 1];
    worst = std::max(worst, error);
  }
  EXPECT_LE(max[0][0], 0.501);
  EXPECT_LE(max[1][0], 0.501);
  EXPECT_LE(max[0][1], 0.6);
  EXPECT_LE(max[1][1], 0.85);
}

TEST(IntegerTosa, LogSoftmax) {
  Chance chance(12);
  double max[2][2] = {};
  for (int round = 0; round < 200; ++round) {
    const DType from = round % 2 == 0 ? DType::kI8 : DType::kI16;
    const DType to = round / 2 % 2 == 0 ? DType::kI8 : DType::kI16;
    const auto length = static_cast<std::int64_t>(chance.scale(1, 1200));
    const float range = chance.scale(0.5, 60);
    const Quant quant{{range / (from == DType::kI8 ? 127.0f : 32767.0f)}, from == DType::kI8 ? -7 : 0};
    const QuantizedTensor x = quantized_rows(chance, 8, length, quant, from);
    const float reach = 2 * range + 8;
    const Quant result = to == DType::kI8 ? Quant{{reach / 255}, 127} : Quant{{reach / 32768}};
    const QuantizedTensor y = computed(Op::kLogSoftmax, AxisAttrs{1}, {x}, zeros(x.tensor.sizes(), result, to));
    const double error = worst_row(x, y, [](const auto& row) { return row_softmax(row, true); });
    double& worst = max[from == DType::kI8 ? 0 : 1][to == DType::kI8 ? 0 : 1];
    worst = std::max(worst, error);
  }
  EXPECT_LE(max[0][0], 0.501);
  EXPECT_LE(max[1][0], 0.501);
  EXPECT_LE(max[0][1], 0.6);
  EXPECT_LE(max[1][1], 0.6);
}

TEST(IntegerTosa, LayerNorm) {
  Chance chance(13);
  double max[2][2] = {};
  for (int round = 0; round < 252; ++round) {
    const DType from = round % 2 == 0 ? DType::kI8 : DType::kI16;
    const DType to = round / 2 % 2 == 0 ? DType::kI8 : DType::kI16;
    // Some rows are so long that they are added up in parts; in some the epsilon is more than all quantized values
    // show.
    constexpr std::int64_t kLong[] = {32768, 40000, 65536, 3 * 224 * 224};
    const bool is_long = round >= 240;
    const auto length = is_long ? kLong[round % 4] : static_cast<std::int64_t>(chance.scale(2, 1200));
    const float range = chance.scale(round % 7 == 0 ? 1e-6 : 0.05, 100);
    const double eps = round % 5 == 0 ? 0 : round % 5 == 1 ? 1e-12 : 1e-5;
    const Quant quant{{range / (from == DType::kI8 ? 127.0f : 32767.0f)}, from == DType::kI8 ? -7 : 0};
    const QuantizedTensor x = quantized_rows(chance, is_long ? 4 : 8, length, quant, from);
    std::vector<QuantizedTensor> inputs{x};
    if (round % 3 > 0) inputs.push_back({chance.reals({length}, -2, 3)});
    if (round % 3 > 1) inputs.push_back({chance.reals({length}, -1, 1)});
    const float reach = round % 3 > 0 ? 15.0f : 6.0f;
    const Quant result = to == DType::kI8 ? Quant{{reach / 127}, 4} : Quant{{reach / 32767}};
    const QuantizedTensor y =
        computed(Op::kLayerNorm, LayerNormAttrs{1, eps}, inputs, zeros(x.tensor.sizes(), result, to));
    const double error = worst_row(x, y, [&](std::vector<double> row) {
      double mean = 0, variance = 0;
      for (const double v : row) mean += v / static_cast<double>(length);
      for (const double v : row) variance += (v - mean) * (v - mean) / static_cast<double>(length);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = variance + eps == 0 ? 0 : (row[i] - mean) / std::sqrt(variance + eps);
        if (inputs.size() > 1) row[i] *= static_cast<double>(inputs[1].tensor.data<float>()[i]);
        if (inputs.size() > 2) row[i] += static_cast<double>(inputs[2].tensor.data<float>()[i]);
      }
      return row;
    });
    double& worst = max[from == DType::kI8 ? 0 : 1][to == DType::kI8 ? 0 : 1];
    worst = std::max(worst, error);
  }
  // Rows of 16 bits that differ by a step or two keep a few bits of it.
  EXPECT_LE(max[0][0], 0.6);
  EXPECT_LE(max[1][0], 1.1);
  EXPECT_LE(max[0][1], 0.85);
  EXPECT_LE(max[1][1], 0.95);
}

// Whatever quantized values there are: nothing is undefined and nothing fails.
TEST(IntegerTosa, ExtremeValues) {
  for (const DType dtype : {DType::kI8, DType::kI16}) {
    for (const int pattern : {0, 1, 2, 3}) {
      QuantizedTensor x{Tensor(dtype, {2, 700}), Quant{{pattern == 3 ? 1e20f : 1e-20f}, dtype == DType::kI8 ? 127 : 0}};
      for (std::int64_t i = 0; i < 1400; ++i) {
        const bool is_low = pattern == 0 || (pattern == 1 && i % 2 == 0) || (pattern == 3 && i == 5);
        dispatch(dtype, [&]<class Number>(Number) {
          if constexpr (sizeof(Number) <= 2) {
            x.tensor.mutable_data<Number>()[at(i)] =
                is_low ? std::numeric_limits<Number>::min() : std::numeric_limits<Number>::max();
          }
        });
      }
      const QuantizedTensor like = zeros({2, 700}, Quant{{1.0f / 128}, 0}, dtype);
      const std::pair<Op, Attrs> rows[] = {
          {Op::kSoftmax, AxisAttrs{1}}, {Op::kLogSoftmax, AxisAttrs{1}}, {Op::kLayerNorm, LayerNormAttrs{1, 1e-5}}};
      for (const auto& [op, attrs] : rows) {
        if (test::kernel_refusal(kernels(), op, attrs, {x}, like.type()).empty()) computed(op, attrs, {x}, like);
      }
    }
  }
}

std::string refused(Op op, const Attrs& attrs, const std::vector<QuantizedTensor>& inputs,
                    const QuantizedTensor& like) {
  return test::kernel_refusal(kernels(), op, attrs, inputs, like.type());
}

TEST(IntegerTosa, UnsupportedOperatorsAreNamed) {
  const QuantizedTensor x = zeros({4}, Quant{{1}, 3});
  const QuantizedTensor wide = zeros({4}, Quant{{1}}, DType::kI16);
  const QuantizedTensor shifted = zeros({4}, Quant{{1}, 3}, DType::kI16);
  EXPECT_EQ(refused(Op::kSort, SortAttrs{}, {x}, x), "no integer kernel for sort");
  EXPECT_EQ(refused(Op::kAbs, NoAttrs{}, {shifted}, shifted), "i16 values");
  EXPECT_EQ(refused(Op::kAdd, NoAttrs{}, {x, wide}, x), "");
  EXPECT_THAT(refused(Op::kPow, NoAttrs{}, {x, x}, x), testing::HasSubstr("pow of two tensors"));
  EXPECT_EQ(refused(Op::kAbs, NoAttrs{}, {wide}, wide), "");
  EXPECT_EQ(refused(Op::kFlip, AxesAttrs{{0}}, {wide}, wide), "");
}

}  // namespace
}  // namespace isthmus::integer_tosa_test
