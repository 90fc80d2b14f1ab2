// Integer kernel of layer_norm: exact differences to the mean, the sum of their squares in 32 bits with an exponent for
// each row, its root by a table of the mantissa; only the last step rounds to codes.
//
// Row by row, all numbers of 32 bits; P, k, p, the weights and biases are LayerNormConstants; all right shifts round:
//   x = RESCALE(codes); sum = REDUCE_SUM(x); d = P * x - sum: P times the difference to the mean, exact where P is C
//   where it is not, sum = REDUCE_SUM(MUL(REDUCE_SUM(x of each part), mean)): the parts of P times the mean
//   a = MAX(P * RESCALE(REDUCE_MAX(codes)) - sum, sum - P * RESCALE(REDUCE_MIN(codes))): the greatest difference
//   n = MIN(CLZ(MAX(a, 1)), most_shift); t = (d << (n - 1)) >> 16: 16 bits, as many of them used as the row allows
//   high = floor(t * t / 2^16), low = t * t - (high << 16)
//   s = REDUCE_SUM(high), rest = REDUCE_SUM(low); carry = floor(rest / 2^16)
//   s = s + carry, rest = rest - (carry << 16): two numbers, because 32 bits do not hold the sum of squares
//   in several parts, each of them / 2^p: u = floor(s / 2^p), v = floor((((s - (u << p)) << 16) + rest) / 2^p);
//   s = REDUCE_SUM(u), rest = REDUCE_SUM(v), and the carry once more
//   h = floor((CLZ(s + (eps >> MIN(eps_shift - 2n + 16, 31)) + 1) - 1) / 2)
//   q = (s << 2h) + rest * 2^(2h - 16) + (eps >> MIN(eps_shift - 2n - 2h + 16, 31)), by shifts to the side of the sign
//   g = floor((CLZ(MAX(q, 1)) - 1) / 2); m = q << 2g: at least 2^29
//   f = TABLE16(RESCALE_i16(m - 5 * 2^28, 2^-13 / 3)) + 2^23: sqrt(2^30 / m) in 23 bits of fraction
//   z = MUL(d, f, k) shifted by the row's exponent n + h + g + (k - 33): y / sqrt(C) in 30 bits of fraction
//   y = RESCALE(MUL(z, weight, shift) + bias)
// Why: y = d * sqrt(C) / sqrt(Q) with Q = sum of d^2 + C * P^2 * eps, and m = Q * 2^(2n - 34 - p) * 2^(2h + 2g - 16).
// The root is good to 2^-16.
#include <algorithm>

#include "exec/integer_rows.h"
#include "exec/integer_steps.h"

namespace isthmus {
namespace {

std::int64_t row_length(const LayerNormAttrs& attrs, const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (std::size_t i = sizes.size() - static_cast<std::size_t>(attrs.axes); i < sizes.size(); ++i) count *= sizes[i];
  return count;
}

// A sum of squares: high * 2^16 + low.
struct Squares {
  std::int32_t high = 0;
  std::int32_t low = 0;

  void add(Squares other) { *this = {steps::add(high, other.high), steps::add(low, other.low)}; }
  void carry() {
    const std::int32_t carried = steps::floor_shift(low, 16);
    *this = {steps::add(high, carried), steps::sub(low, steps::shift_left(carried, 16))};
  }
  Squares shifted(std::int32_t bits) const {
    const std::int32_t whole = steps::floor_shift(high, bits);
    const std::int32_t left = steps::sub(high, steps::shift_left(whole, bits));
    return {whole, steps::floor_shift(steps::add(steps::shift_left(left, 16), low), bits)};
  }
};
Squares squares_of(std::span<const std::int32_t> differences, std::int32_t n) {
  Squares sum;
  for (const std::int32_t difference : differences) {
    const std::int32_t t = steps::shift_right(steps::shift_left(difference, n - 1), 16);
    const std::int32_t square = steps::mul(t, t);
    const std::int32_t high = steps::floor_shift(square, 16);
    sum.add({high, steps::sub(square, steps::shift_left(high, 16))});
  }
  sum.carry();
  return sum;
}

// What P times the mean of a row is taken from its codes as.
std::int32_t mean_of(const LayerNormConstants& constants, std::span<const std::int32_t> codes) {
  const std::size_t length = codes.size() / static_cast<std::size_t>(constants.parts);
  std::int32_t mean = 0;
  for (std::size_t begin = 0; begin < codes.size(); begin += length) {
    std::int32_t sum = 0;
    for (const std::int32_t code : codes.subspan(begin, length)) sum = steps::add(sum, code);
    mean = steps::add(mean, constants.mean ? steps::mul(sum, constants.mean->factor, constants.mean->shift) : sum);
  }
  return mean;
}

// The factor of a row's differences, and its exponent.
struct RowRoot {
  std::int32_t factor;
  std::int32_t exponent;
};
RowRoot root_of(const LayerNormConstants& constants, std::span<const std::int32_t> differences) {
  const auto [least, greatest] = std::ranges::minmax(differences);
  const std::int32_t reach = std::max(greatest, steps::sub(0, least));
  const std::int32_t n = std::min(steps::clz(std::max(reach, 1)), constants.most_shift);
  const std::size_t length = differences.size() / static_cast<std::size_t>(constants.parts);
  Squares all = squares_of(differences.first(length), n);
  if (constants.parts > 1) {
    all = {};
    for (std::size_t begin = 0; begin < differences.size(); begin += length) {
      all.add(squares_of(differences.subspan(begin, length), n).shifted(constants.square_shift));
    }
    all.carry();
  }
  const auto [sum, rest] = all;
  const auto eps_at = [&](std::int32_t exponent) {
    return steps::shift_right(constants.eps, std::clamp(constants.eps_shift - 2 * n - exponent + 16, 0, 31));
  };
  const std::int32_t bound = steps::add(steps::add(sum, eps_at(0)), 1);
  const std::int32_t h = steps::floor_shift(steps::clz(bound) - 1, 1);
  const std::int32_t squares = steps::add(steps::shift_left(sum, 2 * h), steps::shift_by(rest, 2 * h - 16));
  const std::int32_t q = std::max(steps::add(squares, eps_at(2 * h)), 1);
  const std::int32_t g = steps::floor_shift(steps::clz(q) - 1, 1);
  return {steps::look_up(rsqrt_table(), steps::shift_left(q, 2 * g)), n + h + g + constants.exponent};
}

Expected<Tensor> layer_norm_codes(const IntegerContext& context) {
  const auto& attrs = context.as<LayerNormAttrs>();
  const std::int64_t count = row_length(attrs, context.plain.sizes);
  if (context.plain.result().count() == 0) return context.plain.result();
  const auto parameter = [&](std::size_t i) {
    return context.has_input(i) ? context.input(i).data<float>() : std::span<const float>();
  };
  const auto constants =
      layer_norm_constants(context.type(0), context.type(), count, attrs.eps, parameter(1), parameter(2));
  if (!constants) return bad_input("layer_norm: numbers that leave 32 bits");
  std::vector<std::int32_t> differences(static_cast<std::size_t>(count));
  return map_rows(context, count, 1, constants->result, [&](auto codes, auto results) {
    const std::int32_t mean = mean_of(*constants, codes);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      differences[i] = steps::sub(steps::mul(codes[i], constants->times), mean);
    }
    const RowRoot root = root_of(*constants, differences);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::int32_t z =
          steps::shift_by(steps::mul(differences[i], root.factor, constants->product_shift), root.exponent);
      const std::int32_t weight = constants->weight[constants->weight.size() == 1 ? 0 : i];
      const std::int32_t bias = constants->bias[constants->bias.size() == 1 ? 0 : i];
      results[i] = steps::add(steps::mul(z, weight, constants->weight_shift), bias);
    }
  });
}

std::optional<std::string> refuse_layer_norm_codes(const IntegerSite& site) {
  for (std::size_t i = 1; i < site.node.inputs.size(); ++i) {
    if (site.type(i).dtype != DType::kF32) return "a weight or bias that is no f32";
  }
  const Shape& shape = site.type(0).shape;
  std::int64_t count = 1;
  for (std::size_t i = shape.size() - static_cast<std::size_t>(site.as<LayerNormAttrs>().axes); i < shape.size(); ++i) {
    constexpr std::int64_t kTooMany = std::int64_t{1} << 31;
    if (!shape[i].is_fixed() || shape[i].value() >= kTooMany) return "rows of any length";
    count = std::min<std::int64_t>(count * shape[i].value(), kTooMany);
  }
  if (layer_norm_constants(site.type(0), site.type(), count, site.as<LayerNormAttrs>().eps, {}, {})) {
    return std::nullopt;
  }
  return "numbers that leave 32 bits";
}

}  // namespace

std::span<const IntegerKernelDef> integer_norm_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kLayerNorm, .kernel = layer_norm_codes, .in_xnnpack = false, .refusal = refuse_layer_norm_codes},
  };
  return kKernels;
}

}  // namespace isthmus
