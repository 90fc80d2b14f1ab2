// Forms of softmax and log_softmax over the last axis: exact differences to the greatest quantized value, exp by tables
// in 30 bits, an exact sum, its reciprocal or logarithm by a table of its mantissa; only the last step rounds to
// quantized values.
//
// softmax, row by row; all numbers have 32 bits where nothing else is said, and all right shifts round:
//   greatest = REDUCE_MAX(x); d = RESCALE(greatest) - RESCALE(x), 0..255 (16 bits: 0..65535)
//   8 bits:  i = RESCALE_i16(d, 128); high = TABLE16(i) >> 7, low = TABLE16'(i) >> 7; e = (high << 15) + low
//   16 bits: h = floor(d / 256), l = d - (h << 8); e = MUL(e(h) by coarse tables, e(l) by fine ones, shift 30);
//            high = floor(e / 2^15), low = e - (high << 15)
//   sum = REDUCE_SUM(high), rest = REDUCE_SUM(low); carry = floor(rest / 2^15)
//   sum = sum + carry, rest = rest - (carry << 15): two parts, because 32 bits do not hold the sum of e
//   n = CLZ(sum), 17 at most; m = (sum << (n - 1)) + ((rest << 1) >> (17 - n))
//   r = TABLE16(RESCALE_i16(m - 3 * 2^29, 2^-14)) + 3 * 2^22: 2^30 / m in 24 bits of fraction
//   p = MUL(e, r, shift 23) >> (17 - n): the probability in 30 bits of fraction
//   y = RESCALE(p, 2^-30 / scale)
// From 8 bits to 8 bits, numbers of 15 bits do: they are what NPUs compute with at once, in a quarter of the memory.
//   d = (greatest - x) * 128 in 16 bits; e = TABLE16(d) in 15 bits of fraction, rounded
//   s = REDUCE_SUM(e); of long rows, what the rounding left of each is added up by a second table and counts too
//   n = CLZ(s); r = (TABLE16(RESCALE_i16((s << (n - 1)) - 3 * 2^29, 2^-14)) + 3 * 2^15) >> MAX(18 - g - n, 0),
//   in 16 bits: 2^(30 + g) / s, where g is as large as the result's range allows; more saturates, as the result does
//   y = RESCALE(MUL(e, r), 2^-(30 + g) / scale): good to 1/64 of a step
// log_softmax, from m and n on:
//   g = (16 - n) * 2^23 + TABLE16(RESCALE_i16(m - 3 * 2^29, 2^-14)) + 2^22 - log2_of_one: log2 of the sum
//   y = RESCALE(-(MUL(d, a, shift) + MUL(g, b, shift)), unit / scale)
// Probabilities are good to 2^-17 of their size, logarithms to 2^-17.
#include <fmt/format.h>

#include "targets/ethos_u/forms/form_families.h"
#include "targets/ethos_u/forms/mantissa.h"

namespace isthmus::ethos_u {
namespace {

std::optional<Reason> refuse_softmax(const NodeForm& form) {
  constexpr std::int64_t kMaxPowers = 65536;  // of 15 bits each, so that their sum fits 32
  const Ints sizes = form.sizes(0);
  if (sizes.empty() || form.attrs<AxisAttrs>().axis + 1 != std::ssize(sizes)) {
    return Reason{ReasonCode::kAxis, "a softmax over an inner axis, or of one number"};
  }
  if (sizes.back() <= kMaxPowers) return std::nullopt;
  return Reason{ReasonCode::kSumRange, fmt::format("a softmax of {} numbers, at most {}", sizes.back(), kMaxPowers)};
}

// Numbers below 2^30 in two parts of 15 bits, as sums of them need it.
struct Power {
  Operand whole, high, low;
};
struct Powers {
  Operand differences;  // greatest - x, in quantized steps
  Operand power;        // exp of their negative, in 30 bits of fraction
  Operand mantissa;     // of the sum of powers
  Operand leading;      // its zeros
};

Power exp_by(TosaBuilder& out, const ExpTable& table, const Operand& difference) {
  const Operand index = out.rescale(difference, tosa::Type::kI16, {{*multiplier_of(128, ScaleBits::k31)}});
  const Operand high = out.shift_right(out.table(index, table.high), 7);
  const Operand low = out.shift_right(out.table(index, table.low), 7);
  return {out.binary(tosa::Op::kAdd, out.shift_left(high, 15), low), high, low};
}

Power exp_of(TosaBuilder& out, const ExpTables& tables, const Operand& difference) {
  if (!tables.is_wide) return exp_by(out, tables.fine, difference);
  const Operand far = floor_shift(out, difference, 8);
  const Operand near = out.binary(tosa::Op::kSub, difference, out.shift_left(far, 8));
  const Operand whole = out.mul(exp_by(out, tables.coarse, far).whole, exp_by(out, tables.fine, near).whole, 30);
  const Operand high = floor_shift(out, whole, 15);
  return {whole, high, out.binary(tosa::Op::kSub, whole, out.shift_left(high, 15))};
}

Powers powers_of(NodeLowering& lowering, const Operand& x, const ExpTables& tables) {
  TosaBuilder& out = lowering.out;
  const std::int32_t zero = lowering.type(0).quant->zero_point;
  const std::int64_t last = x.rank() - 1;
  const Operand greatest = out.widened(out.reduce(tosa::Op::kReduceMax, x, last), zero);
  Powers result;
  result.differences = out.binary(tosa::Op::kSub, greatest, out.widened(x, zero));
  const Power power = exp_of(out, tables, result.differences);
  result.power = power.whole;
  const Operand low = out.reduce(tosa::Op::kReduceSum, power.low, last);
  const Operand carry = floor_shift(out, low, 15);
  const Operand sum = out.binary(tosa::Op::kAdd, out.reduce(tosa::Op::kReduceSum, power.high, last), carry);
  const Operand rest = out.binary(tosa::Op::kSub, low, out.shift_left(carry, 15));
  result.leading = out.unary(tosa::Op::kClz, sum);
  const Operand upper = out.shift_left(sum, out.binary(tosa::Op::kSub, result.leading, 1));
  const Operand lower = out.shift_right(out.shift_left(rest, 1), less_than(out, 17, result.leading));
  result.mantissa = out.binary(tosa::Op::kAdd, upper, lower);
  return result;
}

// In rows of at most this many numbers, the rounding of each to 15 bits is next to nothing beside their sum.
constexpr std::int64_t kShortRow = 256;

Expected<Operand> narrow_softmax(NodeLowering& lowering, const Operand& x) {
  TosaBuilder& out = lowering.out;
  const std::int64_t last = x.rank() - 1;
  const auto constants = narrow_softmax_constants(lowering.type(0), lowering.type());
  if (!constants) return bad_input("a scale that is too small");
  // Differences do not depend on zero points, and Vela reads numbers that have one as they are.
  constexpr std::int32_t kAnyZero = 1;
  const Operand greatest = out.widened(out.reduce(tosa::Op::kReduceMax, x, last), kAnyZero);
  const Operand difference = out.binary(tosa::Op::kSub, greatest, out.widened(x, kAnyZero));
  const Operand index = out.rescale(difference, tosa::Type::kI16, {{*multiplier_of(128, ScaleBits::k31)}});
  const Operand power = short_table(out, index, constants->power);
  Operand sum = out.reduce(tosa::Op::kReduceSum, out.widened(power, 0), last);
  const Ints of_rows = sum.shape;
  // Rows side by side are numbers that NPUs compute with many at once.
  std::int64_t rows = 1;
  for (const std::int64_t size : of_rows) rows *= size;
  const auto flat = [&](const Operand& of) { return out.reshape(of, {1, rows}); };
  sum = flat(sum);
  if (x.shape.back() > kShortRow) {
    const Operand rest = out.widened(short_table(out, index, constants->rest), 0);
    const Operand left = flat(out.reduce(tosa::Op::kReduceSum, rest, last));
    sum = out.binary(tosa::Op::kAdd, sum, out.shift_right(left, 15));
  }
  const Operand leading = out.unary(tosa::Op::kClz, sum);
  const Operand mantissa = out.shift_left(sum, out.binary(tosa::Op::kSub, leading, 1));
  const Operand reciprocal = look_up_short(out, reciprocal_table(), mantissa);
  const Operand bits = out.binary(tosa::Op::kMaximum, less_than(out, 18 - constants->gain, leading), 0);
  const Operand factor = out.rescale(out.shift_right(reciprocal, bits), tosa::Type::kI16, {{constants->unit}});
  const Operand shares = out.mul(out.widened(power, 0), out.widened(out.reshape(factor, of_rows), 0));
  return out.rescale(shares, lowering.result_type(), {{constants->result}, 0, lowering.type().quant->zero_point});
}

Expected<Operand> plain_softmax(NodeLowering& lowering, const Operand& x) {
  TosaBuilder& out = lowering.out;
  const auto constants = softmax_constants(lowering.type(0), lowering.type());
  if (!constants) return bad_input("a scale that is too small");
  const Powers row = powers_of(lowering, x, constants->exp);
  const Operand reciprocal = look_up(out, reciprocal_table(), row.mantissa);
  const Operand shares = out.shift_right(out.mul(row.power, reciprocal, 23), less_than(out, 17, row.leading));
  return out.rescale(shares, lowering.result_type(), {{constants->result}, 0, lowering.type().quant->zero_point});
}

Expected<Operand> plain_log_softmax(NodeLowering& lowering, const Operand& x) {
  TosaBuilder& out = lowering.out;
  const auto constants = log_softmax_constants(lowering.type(0), lowering.type());
  if (!constants) return bad_input("a scale that is too small");
  const Powers row = powers_of(lowering, x, constants->exp);
  const Operand bits = less_than(out, 16, row.leading);
  const Operand fraction = look_up(out, log2_table(), row.mantissa);
  const Operand whole = out.binary(tosa::Op::kAdd, out.shift_left(bits, 23), fraction);
  const Operand log2 = out.binary(tosa::Op::kSub, whole, constants->log2_of_one);
  const Operand log = out.mul(log2, constants->log2.factor, constants->log2.shift);
  const Operand difference = out.mul(row.differences, constants->difference.factor, constants->difference.shift);
  const Operand sum = out.binary(tosa::Op::kAdd, difference, log);
  return out.rescale(less_than(out, 0, sum), lowering.result_type(),
                     {{constants->result}, 0, lowering.type().quant->zero_point});
}

// Rows lose their places beside each other only where they are computed in parts.
template <Expected<Operand> (*kCompute)(NodeLowering&, const Operand&)>
Expected<Operand> of_rows(NodeLowering& lowering) {
  const Operand& x = lowering.inputs[0];
  if (lowering.parts <= 1) return kCompute(lowering, x);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.shape.size(); ++i) rows *= x.shape[i];
  const Operand flat = lowering.out.reshape(x, {rows, x.shape.back()});
  const Operand made =
      TRY(by_parts(lowering, flat, lowering.parts, [&](const Operand& part) { return kCompute(lowering, part); }));
  return lowering.out.reshape(made, x.shape);
}
Expected<Operand> softmax(NodeLowering& lowering) {
  const bool is_narrow = lowering.type(0).dtype == DType::kI8 && lowering.type().dtype == DType::kI8;
  return is_narrow ? of_rows<narrow_softmax>(lowering) : of_rows<plain_softmax>(lowering);
}
Expected<Operand> log_softmax(NodeLowering& lowering) { return of_rows<plain_log_softmax>(lowering); }

constexpr FormRow kSoftmaxForms[] = {
    {.op = Op::kSoftmax,
     .core = tosa::Op::kTable,
     .order = last_innermost,
     .refusal = refuse_softmax,
     .lower = softmax,
     .has_bounds = true,
     .is_by_row = true},
    {.op = Op::kLogSoftmax,
     .core = tosa::Op::kTable,
     .order = last_innermost,
     .refusal = refuse_softmax,
     .lower = log_softmax,
     .has_bounds = true,
     .is_by_row = true},
};

}  // namespace

std::span<const FormRow> softmax_forms() { return kSoftmaxForms; }

}  // namespace isthmus::ethos_u
