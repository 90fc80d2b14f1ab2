// Integer kernels of softmax and log_softmax: exact differences to the greatest code, exp by tables in 30 bits, an
// exact sum, its reciprocal or logarithm by a table of its mantissa; only the last step rounds to codes.
//
// softmax, row by row; all numbers have 32 bits where nothing else is said, and all right shifts round:
//   greatest = REDUCE_MAX(x) in codes; d = RESCALE(greatest) - RESCALE(x), 0..255 (16 bits: 0..65535)
//   8 bits:  i = RESCALE_i16(d, 128); high = TABLE16(i) >> 7, low = TABLE16'(i) >> 7; e = (high << 15) + low
//   16 bits: h = floor(d / 256), l = d - (h << 8); e = MUL(e(h) by coarse tables, e(l) by fine ones, shift 30);
//            high = floor(e / 2^15), low = e - (high << 15)
//   sum = REDUCE_SUM(high), rest = REDUCE_SUM(low); carry = floor(rest / 2^15)
//   sum = sum + carry, rest = rest - (carry << 15): two parts, because 32 bits do not hold the sum of e
//   n = CLZ(sum), 17 at most; m = (sum << (n - 1)) + ((rest << 1) >> (17 - n))
//   r = TABLE16(RESCALE_i16(m - 3 * 2^29, 2^-14)) + 3 * 2^22: 2^30 / m in 24 bits of fraction
//   p = MUL(e, r, shift 23) >> (17 - n): the probability in 30 bits of fraction
//   y = RESCALE(p, 2^-30 / scale)
// log_softmax, from m and n on:
//   g = (16 - n) * 2^23 + TABLE16(RESCALE_i16(m - 3 * 2^29, 2^-14)) + 2^22 - log2_of_one: log2 of the sum
//   y = RESCALE(-(MUL(d, a, shift) + MUL(g, b, shift)), unit / scale)
// Probabilities are good to 2^-17 of their size, logarithms to 2^-17.
#include <algorithm>

#include "exec/integer_rows.h"
#include "exec/integer_steps.h"

namespace isthmus {
namespace {

// How far the codes of a row reach along the axis, and what lies between two of them.
struct RowShape {
  std::int64_t length;
  std::int64_t inner = 1;
};
RowShape row_shape(const IntegerContext& context) {
  const std::int64_t axis = context.as<AxisAttrs>().axis;
  const Tensor& input = context.input(0);
  if (input.rank() == 0) return {1};
  RowShape result{input.size(axis)};
  for (std::int64_t i = axis + 1; i < input.rank(); ++i) result.inner *= input.size(i);
  return result;
}

std::int32_t exp_by(const ExpTable& table, std::int32_t difference) {
  return steps::add(steps::shift_left(steps::shift_right(table.high(difference * 128), 7), 15),
                    steps::shift_right(table.low(difference * 128), 7));
}
std::int32_t exp_of(const ExpTables& tables, std::int32_t difference) {
  if (!tables.is_wide) return exp_by(tables.fine, difference);
  const std::int32_t high = steps::floor_shift(difference, 8);
  const std::int32_t low = steps::sub(difference, steps::shift_left(high, 8));
  return steps::mul(exp_by(tables.coarse, high), exp_by(tables.fine, low), 30);
}

// A sum of numbers below 2^30 as a mantissa of at least 2^30: sum = mantissa * 2^(16 - leading).
struct PowerSum {
  std::int32_t mantissa;
  std::int32_t leading;
};
PowerSum sum_of(std::span<const std::int32_t> powers) {
  std::int32_t sum = 0;
  std::int32_t rest = 0;
  for (const std::int32_t power : powers) {
    const std::int32_t high = steps::floor_shift(power, 15);
    sum = steps::add(sum, high);
    rest = steps::add(rest, steps::sub(power, steps::shift_left(high, 15)));
  }
  const std::int32_t carry = steps::floor_shift(rest, 15);
  sum = steps::add(sum, carry);
  rest = steps::sub(rest, steps::shift_left(carry, 15));
  const std::int32_t n = steps::clz(sum);
  return {steps::add(steps::shift_left(sum, n - 1), steps::shift_right(steps::shift_left(rest, 1), 17 - n)), n};
}

// Of each code's distance to the greatest, and their sum.
PowerSum powers_of(const ExpTables& tables, std::span<const std::int32_t> codes, std::vector<std::int32_t>& powers) {
  const std::int32_t greatest = std::ranges::max(codes);
  std::ranges::transform(codes, powers.begin(), [&](std::int32_t code) { return exp_of(tables, greatest - code); });
  return sum_of(powers);
}

Expected<Tensor> softmax_codes(const IntegerContext& context) {
  const SoftmaxConstants constants = *softmax_constants(context.type(0), context.type());
  const RowShape shape = row_shape(context);
  std::vector<std::int32_t> powers(static_cast<std::size_t>(shape.length));
  return map_rows(context, shape.length, shape.inner, constants.result, [&](auto codes, auto results) {
    const PowerSum sum = powers_of(constants.exp, codes, powers);
    const std::int32_t reciprocal = steps::look_up(reciprocal_table(), sum.mantissa);
    std::ranges::transform(powers, results.begin(), [&](std::int32_t power) {
      return steps::shift_right(steps::mul(power, reciprocal, 23), 17 - sum.leading);
    });
  });
}

Expected<Tensor> log_softmax_codes(const IntegerContext& context) {
  const LogSoftmaxConstants constants = *log_softmax_constants(context.type(0), context.type());
  const RowShape shape = row_shape(context);
  std::vector<std::int32_t> powers(static_cast<std::size_t>(shape.length));
  return map_rows(context, shape.length, shape.inner, constants.result, [&](auto codes, auto results) {
    const PowerSum sum = powers_of(constants.exp, codes, powers);
    const std::int32_t greatest = std::ranges::max(codes);
    const std::int32_t whole = steps::shift_left(16 - sum.leading, 23);
    const std::int32_t log2 =
        steps::sub(steps::add(whole, steps::look_up(log2_table(), sum.mantissa)), constants.log2_of_one);
    const std::int32_t log = steps::mul(log2, constants.log2.factor, constants.log2.shift);
    std::ranges::transform(codes, results.begin(), [&](std::int32_t code) {
      const std::int32_t difference =
          steps::mul(greatest - code, constants.difference.factor, constants.difference.shift);
      return steps::sub(0, steps::add(difference, log));
    });
  });
}

// So many numbers below 2^15 that their sum fits 32 bits.
constexpr std::int64_t kMostPowers = 65536;

std::optional<std::string> refuse_row(const IntegerSite& site) {
  const std::int64_t axis = site.as<AxisAttrs>().axis;
  if (site.type(0).rank() == 0) return std::nullopt;
  const Dim size = site.type(0).shape[static_cast<std::size_t>(axis)];
  if (size.is_fixed() && size.value() <= kMostPowers) return std::nullopt;
  return "a softmax over too many numbers";
}
std::optional<std::string> refuse_softmax_codes(const IntegerSite& site) {
  if (auto reason = refuse_row(site)) return reason;
  if (softmax_constants(site.type(0), site.type())) return std::nullopt;
  return "a scale that is too small";
}
std::optional<std::string> refuse_log_softmax_codes(const IntegerSite& site) {
  if (auto reason = refuse_row(site)) return reason;
  if (log_softmax_constants(site.type(0), site.type())) return std::nullopt;
  return "a scale that is too small";
}

}  // namespace

std::span<const IntegerKernelDef> integer_softmax_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kSoftmax, .kernel = softmax_codes, .in_xnnpack = false, .refusal = refuse_softmax_codes},
      {.op = Op::kLogSoftmax, .kernel = log_softmax_codes, .in_xnnpack = false, .refusal = refuse_log_softmax_codes},
  };
  return kKernels;
}

}  // namespace isthmus
