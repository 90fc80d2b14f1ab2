// Integer kernels of softmax and log_softmax: exact differences to the greatest code, exp by tables of 16 bits, a sum
// of 32 bits, its reciprocal or logarithm by a table of its mantissa; only the last step rounds to codes.
//
// softmax, row by row; all numbers have 32 bits where nothing else is said:
//   greatest = REDUCE_MAX(x) in codes; d = RESCALE(greatest) - RESCALE(x), 0..255 (16 bits: 0..65535)
//   8 bits:  t = TABLE16(RESCALE_i16(d, 128)) >> 7: an entry for each difference, 32767 for 0
//   16 bits: h = floor(d / 256), l = d - (h << 8); t = (TABLE16(h) >> 7) * (TABLE16'(l) >> 7) with shift 15
//   sum = REDUCE_SUM(t); n = CLZ(sum); m = sum << (n - 1)
//   r = (TABLE16(RESCALE_i16(m - 3 * 2^29, 2^-14)) + 3 * 2^22) >> 8: 2^30 / m in 16 bits of fraction
//   p = (t * r) >> (17 - n): the probability in 30 bits of fraction, since 1 / sum = 2^30 / m * 2^(n - 31)
//   y = RESCALE(p, 2^-30 / scale)
// log_softmax, from sum and n on:
//   g = (31 - n) * 2^23 + TABLE16(RESCALE_i16(m - 3 * 2^29, 2^-14)) + 2^22 - log2(32767) * 2^23
//   y = RESCALE(-(MUL(d, a, shift) + MUL(g, b, shift)), unit / scale)
// All right shifts round. Errors are below 2^-16 of a probability, plus 2^-16 of the greatest for each number.
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

std::int32_t exp_of(const ExpTables& tables, std::int32_t difference) {
  if (!tables.is_wide) return steps::shift_right(tables.fine(difference * 128), 7);
  const std::int32_t high = steps::floor_shift(difference, 8);
  const std::int32_t low = steps::sub(difference, steps::shift_left(high, 8));
  return steps::mul(steps::shift_right(tables.coarse(high * 128), 7), steps::shift_right(tables.fine(low * 128), 7),
                    15);
}

Expected<Tensor> softmax_codes(const IntegerContext& context) {
  const SoftmaxConstants constants = *softmax_constants(context.type(0), context.type());
  const RowShape shape = row_shape(context);
  std::vector<std::int32_t> powers(static_cast<std::size_t>(shape.length));
  return map_rows(context, shape.length, shape.inner, constants.result, [&](auto codes, auto results) {
    const std::int32_t greatest = std::ranges::max(codes);
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      powers[i] = exp_of(constants.exp, greatest - codes[i]);
      sum = steps::add(sum, powers[i]);
    }
    const std::int32_t n = steps::clz(sum);
    const std::int32_t r = steps::shift_right(steps::look_up(reciprocal_table(), steps::shift_left(sum, n - 1)), 8);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      results[i] = steps::shift_right(steps::mul(powers[i], r), 17 - n);
    }
  });
}

Expected<Tensor> log_softmax_codes(const IntegerContext& context) {
  const LogSoftmaxConstants constants = *log_softmax_constants(context.type(0), context.type());
  const RowShape shape = row_shape(context);
  return map_rows(context, shape.length, shape.inner, constants.result, [&](auto codes, auto results) {
    const std::int32_t greatest = std::ranges::max(codes);
    std::int32_t sum = 0;
    for (const std::int32_t code : codes) sum = steps::add(sum, exp_of(constants.exp, greatest - code));
    const std::int32_t n = steps::clz(sum);
    const std::int32_t fraction = steps::look_up(log2_table(), steps::shift_left(sum, n - 1));
    const std::int32_t log2 = steps::sub(steps::add(steps::shift_left(31 - n, 23), fraction), constants.log2_of_one);
    const std::int32_t log = steps::mul(log2, constants.log2.factor, constants.log2.shift);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const std::int32_t difference =
          steps::mul(greatest - codes[i], constants.difference.factor, constants.difference.shift);
      results[i] = steps::sub(0, steps::add(difference, log));
    }
  });
}

// So many powers of at most 32767 that their sum fits 32 bits.
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
