// Constants of ops that are several steps: softmax, log_softmax, layer_norm.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/portable_math.h"
#include "targets/ethos_u/forms/constants.h"

namespace isthmus::ethos_u {

ShiftedFactor shifted_factor(double factor) {
  int exponent = 0;
  std::frexp(factor, &exponent);
  const int shift = std::clamp(30 - exponent, 0, 62);
  return {static_cast<std::int32_t>(std::nearbyint(std::ldexp(factor, shift))), shift};
}

namespace {

// The smallest power of two that is at least the number.
int log2_above(double number) {
  int exponent = 0;
  return std::frexp(number, &exponent) == 0.5 ? exponent - 1 : exponent;
}

double largest(std::span<const float> numbers, double otherwise) {
  if (numbers.empty()) return otherwise;
  double max = 0;
  for (const float number : numbers) {
    if (!std::isfinite(number)) return std::numeric_limits<double>::infinity();
    max = std::max(max, std::abs(static_cast<double>(number)));
  }
  return max;
}

std::vector<std::int32_t> integers_of(std::span<const float> numbers, double otherwise, double factor) {
  if (numbers.empty()) return {static_cast<std::int32_t>(std::nearbyint(otherwise * factor))};
  std::vector<std::int32_t> result;
  for (const float number : numbers) {
    result.push_back(static_cast<std::int32_t>(std::nearbyint(static_cast<double>(number) * factor)));
  }
  return result;
}

}  // namespace

std::optional<SoftmaxConstants> softmax_constants(const TensorType& from, const TensorType& to) {
  const auto result = multiplier_of(0x1p-30 / static_cast<double>(to.quant->scale()), ScaleBits::k31);
  if (!result) return std::nullopt;
  return SoftmaxConstants{exp_tables(from.quant->scale(), from.dtype), *result};
}

std::optional<QuotientConstants> quotient_constants(const TensorType& a, const TensorType& b, const TensorType& to) {
  // A quantized value less its zero point has 9 bits, or 16; the reciprocal has 24.
  const std::int32_t shift = a.dtype == DType::kI16 ? 9 : 2;
  const double ratio = static_cast<double>(a.quant->scale()) / static_cast<double>(b.quant->scale());
  const auto result =
      multiplier_of(std::ldexp(ratio / static_cast<double>(to.quant->scale()), shift - 24), ScaleBits::k31);
  if (!result) return std::nullopt;
  return QuotientConstants{shift, *result};
}

std::optional<LogSoftmaxConstants> log_softmax_constants(const TensorType& from, const TensorType& to) {
  const auto scale = static_cast<double>(from.quant->scale());
  // The largest difference, and the logarithm of at most 65536 numbers.
  const double max = scale * (from.dtype == DType::kI16 ? 65535 : 255) + 12;
  const double unit = std::ldexp(1, log2_above(max) - 29);
  const auto result = multiplier_of(unit / static_cast<double>(to.quant->scale()), ScaleBits::k31);
  if (!result) return std::nullopt;
  const double one = 1 - 0x1p-15;  // what exp(0) is in a table; of 16 bits there are two of them
  return LogSoftmaxConstants{
      exp_tables(from.quant->scale(), from.dtype), shifted_factor(scale / unit),
      shifted_factor(std::numbers::ln2 * 0x1p-23 / unit),
      static_cast<std::int32_t>(std::nearbyint(portable::log2(one) * (from.dtype == DType::kI16 ? 0x1p24 : 0x1p23))),
      *result};
}

std::optional<std::int64_t> row_parts(std::int64_t count) {
  constexpr std::int64_t kMaxParts = 256;
  for (std::int64_t parts = 1; parts <= kMaxParts; ++parts) {
    if (count >= 1 && count % parts == 0 && count / parts <= kMaxAdded) return parts;
  }
  return std::nullopt;
}

namespace {

// The epsilon in units of the sum of squares at n = 0.
double eps_of(double eps, float scale, std::int64_t count, std::int64_t times, std::int32_t square_shift) {
  const double quantized = static_cast<double>(times) / static_cast<double>(scale);
  return std::ldexp(static_cast<double>(count) * quantized * quantized * eps, -34 - square_shift);
}

}  // namespace

std::optional<LayerNormConstants> layer_norm_constants(const TensorType& from, const TensorType& to, std::int64_t count,
                                                       double eps, std::span<const float> weight,
                                                       std::span<const float> bias) {
  const auto parts = row_parts(count);
  if (!parts || !std::isfinite(eps) || !(eps >= 0)) return std::nullopt;
  LayerNormConstants result;
  result.parts = *parts;
  while ((std::int64_t{1} << result.square_shift) < *parts) result.square_shift += 2;
  const float scale = from.quant->scale();
  // Differences to the mean are taken times the count, which is exact, where int16 values times that fit 32 bits. Else
  // the mean has bits of fraction, as many as fit beside the epsilon; the larger it is, the less they matter.
  constexpr std::int64_t kMaxTimes = 32767;
  constexpr int kMaxFraction = 14;
  constexpr double kMaxEps = 0x1p27;
  const auto fits = [&](std::int64_t times) { return eps_of(eps, scale, count, times, result.square_shift) < kMaxEps; };
  std::int64_t times = count;
  if (count > kMaxTimes || !fits(count)) {
    int fraction = kMaxFraction;
    while (fraction > 0 && !fits(std::int64_t{1} << fraction)) --fraction;
    times = std::int64_t{1} << fraction;
    result.mean = shifted_factor(static_cast<double>(times) / static_cast<double>(count));
  }
  result.times = static_cast<std::int32_t>(times);
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(times - 1)));  // P <= 2^bits
  const int quantized_bits = from.dtype == DType::kI16 ? 16 : 8;
  result.product_shift = std::max(0, quantized_bits + bits + 24 - 31);
  result.exponent = result.product_shift - 33 - result.square_shift / 2;
  // Beside an epsilon that does not fit even so, no quantized value counts.
  const double base = std::min(eps_of(eps, scale, count, times, result.square_shift), kMaxEps * 0.999);
  if (base > 0) {
    int exponent = 0;
    const double mantissa = std::frexp(base, &exponent);
    result.eps = static_cast<std::int32_t>(std::min(std::nearbyint(std::ldexp(mantissa, 31)), 0x1p31 - 1));
    result.eps_shift = 31 - exponent;
    // eps >> (eps_shift - 2n) is at most 2^29, and above 2^26 where that is what limits n.
    result.max_shift = std::min(31, static_cast<int>(std::floor((result.eps_shift - 2) / 2.0)));
    if (result.max_shift < 1) return std::nullopt;
  }
  const double root = std::sqrt(static_cast<double>(count));
  const double max_weight = largest(weight, 1) * root;
  const double max = max_weight + largest(bias, 0);
  if (!std::isfinite(max)) return std::nullopt;
  const int unit_bits = 29 - log2_above(std::max(max, 0x1p-60));
  const int weight_bits = std::min(29 - log2_above(std::max(max_weight, 0x1p-60)), unit_bits + 32);
  result.weight = integers_of(weight, 1, std::ldexp(root, weight_bits));
  result.weight_shift = 30 + weight_bits - unit_bits;
  result.bias = integers_of(bias, 0, std::ldexp(1, unit_bits));
  const auto multiplier =
      multiplier_of(std::ldexp(1 / static_cast<double>(to.quant->scale()), -unit_bits), ScaleBits::k31);
  if (!multiplier) return std::nullopt;
  result.result = *multiplier;
  return result;
}

}  // namespace isthmus::ethos_u
