// Forms of softmax and log_softmax over the last axis, step by step as the integer kernels compute them.
#include "backends/ethos_u/form_families.h"
#include "backends/ethos_u/mantissa.h"

namespace isthmus::ethos_u {
namespace {

std::optional<Reason> refuse_softmax(const NodeForm& form) {
  const Ints sizes = form.sizes(0);
  if (sizes.empty() || form.attrs<AxisAttrs>().axis + 1 != std::ssize(sizes)) {
    return Reason{ReasonCode::kAxis, "a softmax over an inner axis, or of one number"};
  }
  // Powers have 15 bits.
  return refuse_count(DType::kI16, sizes.back());
}

struct Powers {
  Operand differences;  // greatest - x, in codes
  Operand powers;       // exp of their negative, times 32767
  Operand sum;
  Operand zeros;     // leading ones of the sum
  Operand mantissa;  // of the sum
};

Operand exp_of(TosaBuilder& out, const ExpTables& tables, const Operand& difference) {
  const auto by_table = [&](const Operand& x, const Table16& table) {
    const Operand index = out.rescale(x, tosa::Type::kI16, {{*multiplier_of(128, ScaleBits::k31)}});
    return out.shift_right(out.table(index, table), 7);
  };
  if (!tables.is_wide) return by_table(difference, tables.fine);
  const Operand high = floor_shift(out, difference, 8);
  const Operand low = out.binary(tosa::Op::kSub, difference, out.shift_left(high, 8));
  return out.mul(by_table(high, tables.coarse), by_table(low, tables.fine), 15);
}

Powers powers_of(NodeLowering& lowering, const ExpTables& tables) {
  TosaBuilder& out = lowering.out;
  const Operand& x = lowering.inputs[0];
  const std::int32_t zero = lowering.type(0).quant->zero_point;
  const std::int64_t last = x.rank() - 1;
  const Operand greatest = out.widened(out.reduce(tosa::Op::kReduceMax, x, last), zero);
  Powers result;
  result.differences = out.binary(tosa::Op::kSub, greatest, out.widened(x, zero));
  result.powers = exp_of(out, tables, result.differences);
  result.sum = out.reduce(tosa::Op::kReduceSum, result.powers, last);
  result.zeros = out.unary(tosa::Op::kClz, result.sum);
  result.mantissa = out.shift_left(result.sum, out.binary(tosa::Op::kSub, result.zeros, 1));
  return result;
}

Expected<Operand> softmax(NodeLowering& lowering) {
  TosaBuilder& out = lowering.out;
  const auto constants = softmax_constants(lowering.type(0), lowering.type());
  if (!constants) return bad_input("a scale that is too small");
  const Powers row = powers_of(lowering, constants->exp);
  const Operand reciprocal = out.shift_right(look_up(out, reciprocal_table(), row.mantissa), 8);
  const Operand bits = out.binary(tosa::Op::kSub, out.number(tosa::Type::kI32, 17, row.zeros.rank()), row.zeros);
  const Operand shares = out.shift_right(out.mul(row.powers, reciprocal), bits);
  return out.rescale(shares, lowering.result_type(), {{constants->result}, 0, lowering.type().quant->zero_point});
}

Expected<Operand> log_softmax(NodeLowering& lowering) {
  TosaBuilder& out = lowering.out;
  const auto constants = log_softmax_constants(lowering.type(0), lowering.type());
  if (!constants) return bad_input("a scale that is too small");
  const Powers row = powers_of(lowering, constants->exp);
  const Operand bits = out.binary(tosa::Op::kSub, out.number(tosa::Type::kI32, 31, row.zeros.rank()), row.zeros);
  const Operand fraction = look_up(out, log2_table(), row.mantissa);
  const Operand whole = out.binary(tosa::Op::kAdd, out.shift_left(bits, 23), fraction);
  const Operand log2 = out.binary(tosa::Op::kSub, whole, constants->log2_of_one);
  const Operand log = out.mul(log2, constants->log2.factor, constants->log2.shift);
  const Operand difference = out.mul(row.differences, constants->difference.factor, constants->difference.shift);
  const Operand sum = out.binary(tosa::Op::kAdd, difference, log);
  const Operand result = out.binary(tosa::Op::kSub, out.number(tosa::Type::kI32, 0, sum.rank()), sum);
  return out.rescale(result, lowering.result_type(), {{constants->result}, 0, lowering.type().quant->zero_point});
}

constexpr FormRow kSoftmaxForms[] = {
    {Op::kSoftmax, tosa::Op::kTable, last_innermost, refuse_softmax, softmax, true},
    {Op::kLogSoftmax, tosa::Op::kTable, last_innermost, refuse_softmax, log_softmax, true},
};

}  // namespace

std::span<const FormRow> softmax_forms() { return kSoftmaxForms; }

}  // namespace isthmus::ethos_u
