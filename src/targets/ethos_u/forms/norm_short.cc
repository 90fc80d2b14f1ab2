// Form of layer_norm to 8 bits for rows of up to 16384 numbers. Differences to the mean are scaled so that the sum of
// their squares nearly fills 32 bits: a coarse sum of squares first, then the sum itself. NPUs do most of it in 16 bits
// at once.
//
// Row by row, all numbers of 32 bits where nothing else is said; P is 2^6, C the row's length; all right shifts round:
//   x in 16 bits (of 8 bits times the gain); d = P * x - MUL(REDUCE_SUM(x), P / C): P times the difference to the mean
//   c = (d >> k) in 16 bits; b = REDUCE_SUM(c * c); b = b + (b >> 1) + doubt: no less than the sum of (d / 2^k)^2
//   j = MIN(MAX(floor((CLZ(b) - 2) / 2), 0), max_up); t = ((d << j) >> k) in 16 bits: the sum of t^2 is at most 2^30
//   s = REDUCE_SUM(t * t) + (eps >> 2 * (max_up - j)); h = floor((CLZ(s) - 1) / 2)
//   f = TABLE16(s << 2h), the root of 2^30 / (s << 2h)
//   z = (MUL(t, f in 16 bits) >> MAX(16 - u - h, 0)) in 16 bits; y = a convolution by 1x1 of each place, with its
//   weight and bias; or one RESCALE where there are none
// Rows that differ by a few steps of 16 bits alone have fewer bits for it.
// Why: y = d * sqrt(C) / sqrt(sum of d^2 + C * P^2 * eps), and t^2 = d^2 * 2^(2j - 2k).
#include <algorithm>
#include <bit>
#include <cmath>

#include "targets/ethos_u/forms/form_families.h"
#include "targets/ethos_u/forms/mantissa.h"

namespace isthmus::ethos_u {
namespace {

const Multiplier kUnitFactor = *multiplier_of(1, ScaleBits::k31);
// Of the root in 17 bits, so that it has 15: 2^-1.5.
constexpr double kRootGain = 0.35355339059327373;

// A weight and a bias of one place as a convolution by 1x1 has them. A bias that is far larger sets the unit.
struct Affine {
  std::int8_t weight = 0;
  std::int64_t bias = 0;
  double unit = 1;
};
Affine affine_of(double weight, double bias, double step) {
  constexpr double kMaxWeight = 127;
  constexpr double kMaxBias = 0x1p30;
  const double unit = std::max({std::abs(weight) / kMaxWeight, std::abs(bias) / step / kMaxBias, 0x1p-100});
  return {static_cast<std::int8_t>(std::nearbyint(weight / unit)),
          static_cast<std::int64_t>(std::nearbyint(bias / (unit * step))), unit};
}

double place_of(std::span<const float> numbers, std::size_t i, double otherwise) {
  return numbers.empty() ? otherwise : static_cast<double>(numbers[i]);
}

// Bits that normalized numbers may have more: whatever is so large that every place of the result saturates does not
// count.
std::int32_t unit_bits_of(const TensorType& to, double root, std::span<const float> weight,
                          std::span<const float> bias) {
  constexpr double kMaxBits = 4;
  const auto scale = static_cast<double>(to.quant->scale());
  const double reach = scale * (128 + std::abs(to.quant->zero_point));
  double needed = 0;
  for (std::size_t i = 0; i < std::max<std::size_t>({weight.size(), bias.size(), 1}); ++i) {
    const double factor = std::abs(place_of(weight, i, 1));
    needed = std::max(needed, (reach + std::abs(place_of(bias, i, 0))) / std::max(factor, 0x1p-60));
  }
  int exponent = 0;
  std::frexp(root / needed, &exponent);
  return static_cast<std::int32_t>(std::clamp(exponent - 1.0, 0.0, kMaxBits));
}

bool has_finite(std::span<const float> numbers) {
  return std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
}

bool add_result(ShortNormConstants& constants, const TensorType& to, std::int64_t count, std::span<const float> weight,
                std::span<const float> bias) {
  const double root = std::sqrt(static_cast<double>(count));
  const auto out = static_cast<double>(to.quant->scale());
  constants.unit_bits = unit_bits_of(to, root, weight, bias);
  const double step = std::ldexp(root / kRootGain, -15 - constants.unit_bits);
  if (weight.empty() && bias.empty()) {
    const auto factor = multiplier_of(step / out, ScaleBits::k31);
    if (factor) constants.result.push_back(*factor);
    return factor.has_value();
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const Affine affine = affine_of(place_of(weight, i, 1), place_of(bias, i, 0), step);
    const auto factor = multiplier_of(affine.unit * step / out, ScaleBits::k15);
    if (!factor) return false;
    constants.weight.push_back(affine.weight);
    constants.bias.push_back(affine.bias);
    constants.result.push_back(*factor);
  }
  return true;
}

}  // namespace

std::optional<ShortNormConstants> short_norm_constants(const TensorType& from, const TensorType& to, std::int64_t count,
                                                       double eps, std::span<const float> weight,
                                                       std::span<const float> bias) {
  constexpr std::int64_t kMaxRowCount = 16384;
  if (to.dtype != DType::kI8 || count > kMaxRowCount || !std::isfinite(eps) || !(eps >= 0) || !has_finite(weight) ||
      !has_finite(bias)) {
    return std::nullopt;
  }
  ShortNormConstants result;
  const auto many = static_cast<double>(count);
  result.gain = from.dtype == DType::kI8 ? 64 : 1;
  result.mean = shifted_factor(0x1p6 / many);
  // A difference has 23 bits; squares of the coarse ones add up to at most 2^30.
  const int bits = (32 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count)))) / 2;
  result.coarse = 17 + kMeanBits - bits;
  result.doubt = static_cast<std::int32_t>(3 * count / 4 + 1);
  const double quantized = std::ldexp(result.gain / static_cast<double>(from.quant->scale()), kMeanBits);
  const double base = std::ldexp(many * quantized * quantized * eps, -2 * result.coarse);
  if (base > 0) {
    int exponent = 0;
    std::frexp(base, &exponent);
    result.max_up = std::min(15, static_cast<int>(std::floor((29 - exponent) / 2.0)));
    if (result.max_up < 0) return std::nullopt;
    result.eps = static_cast<std::int32_t>(std::nearbyint(std::ldexp(base, 2 * result.max_up)));
  }
  if (!add_result(result, to, count, weight, bias)) return std::nullopt;
  return result;
}

namespace {

// Rows of 16 bits, and what is known of them; numbers of rows lie side by side, so that NPUs compute with many at once.
class ShortRows {
 public:
  ShortRows(NodeLowering& lowering, const Operand& rows, const ShortNormConstants& constants)
      : lowering_(lowering),
        out_(lowering.out),
        constants_(constants),
        given_(rows),
        rows_(rows.shape[0]),
        length_(rows.shape[1]) {}

  Expected<Operand> run() {
    const Operand x = values();
    const Operand sums = flat(sum_of(out_.widened(x, 0)));
    const Operand means = out_.mul(sums, constants_.mean.factor, constants_.mean.shift);
    const Operand by_rows = by_row(means);
    const auto differences = [&] {
      return out_.binary(tosa::Op::kSub, out_.mul(x, std::int64_t{1} << kMeanBits), by_rows);
    };
    // Where memory is short, they are computed twice: they are the most that is in memory beside their squares.
    Operand difference = differences();
    const Operand up = bits_up(difference);
    if (lowering_.parts > 1) difference = differences();
    const Operand t = short_of(out_.shift_right(out_.shift_left(difference, by_row(up)), constants_.coarse));
    const Operand squares = out_.binary(tosa::Op::kAdd, flat(sum_of(out_.mul(t, t))), eps_at(up));
    const Operand s = out_.binary(tosa::Op::kMaximum, squares, 1);
    const Operand h = half_zeros(s, 1);
    const Operand mantissa = out_.shift_left(s, out_.shift_left(h, 1));
    return out_.reshape(result_of(t, mantissa, h), given_.shape);
  }

 private:
  Operand flat(const Operand& of) const { return out_.reshape(of, {1, rows_}); }
  Operand by_row(const Operand& of) const { return out_.reshape(of, {rows_, 1}); }
  Operand sum_of(const Operand& x) const { return out_.reduce(tosa::Op::kReduceSum, x, 1); }
  Operand short_of(const Operand& x) const { return out_.rescale(x, tosa::Type::kI16, {{kUnitFactor}}); }
  // floor((CLZ(x) - less) / 2)
  Operand half_zeros(const Operand& x, std::int64_t less) const {
    return floor_shift(out_, out_.binary(tosa::Op::kSub, out_.unary(tosa::Op::kClz, x), less), 1);
  }

  Operand values() const {
    if (given_.type == tosa::Type::kI16) return given_;
    return out_.rescale(given_, tosa::Type::kI16,
                        {{*multiplier_of(constants_.gain, ScaleBits::k31)}, lowering_.type(0).quant->zero_point});
  }
  Operand bits_up(const Operand& difference) const {
    const Operand coarse = short_of(out_.shift_right(difference, constants_.coarse));
    const Operand sum = flat(sum_of(out_.mul(coarse, coarse)));
    const Operand more = out_.binary(tosa::Op::kAdd, out_.shift_right(sum, 1), constants_.doubt);
    const Operand up = half_zeros(out_.binary(tosa::Op::kAdd, sum, more), 2);
    return out_.binary(tosa::Op::kMinimum, out_.binary(tosa::Op::kMaximum, up, 0), constants_.max_up);
  }
  Operand eps_at(const Operand& up) const {
    const Operand bits = out_.shift_left(less_than(out_, constants_.max_up, up), 1);
    return out_.shift_right(out_.number(tosa::Type::kI32, constants_.eps, 2), bits);
  }
  Operand to_right(std::int64_t bits, const Operand& h) const {
    return by_row(out_.binary(tosa::Op::kMaximum, less_than(out_, bits, h), 0));
  }

  Operand result_of(const Operand& t, const Operand& mantissa, const Operand& h) const {
    const Operand root = out_.rescale(look_up_short(out_, rsqrt_table(), mantissa), tosa::Type::kI16,
                                      {{*multiplier_of(kRootGain, ScaleBits::k31)}});
    const Operand product = out_.mul(t, by_row(root));
    const Operand z = short_of(out_.shift_right(product, to_right(16 - constants_.unit_bits, h)));
    const std::int32_t zero = lowering_.type().quant->zero_point;
    if (lowering_.node.inputs.size() == 1) {
      return out_.rescale(z, lowering_.result_type(), {constants_.result, 0, zero});
    }
    const Operand image = out_.reshape(z, {1, 1, rows_, length_});
    const Operand weight = out_.numbers(tosa::Type::kI8, {1, 1, length_, 1},
                                        std::vector<std::int64_t>(constants_.weight.begin(), constants_.weight.end()));
    const Operand bias = out_.numbers(tosa::Type::kI48, {length_}, constants_.bias);
    const tosa::Conv fields{{0, 0, 0, 0}, {1, 1}, {1, 1}, false, tosa::Type::kI48};
    const Operand sums = out_.emit(
        tosa::Op::kDepthwiseConv2d, fields,
        {image.id, weight.id, bias.id, out_.number(tosa::Type::kI16, 0).id, out_.number(tosa::Type::kI8, 0).id},
        tosa::Type::kI48, image.shape);
    return out_.rescale(sums, lowering_.result_type(), {constants_.result, 0, zero});
  }

  NodeLowering& lowering_;
  TosaBuilder& out_;
  const ShortNormConstants& constants_;
  const Operand& given_;
  std::int64_t rows_;
  std::int64_t length_;
};

}  // namespace

Expected<Operand> norm_of_short_rows(NodeLowering& lowering, const Operand& rows, const ShortNormConstants& constants) {
  return ShortRows(lowering, rows, constants).run();
}

}  // namespace isthmus::ethos_u
