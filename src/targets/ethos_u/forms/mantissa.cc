// The steps, operator by operator.
#include "targets/ethos_u/forms/mantissa.h"

namespace isthmus::ethos_u {

Operand short_table(TosaBuilder& out, const Operand& index, const Table16& table) {
  return out.rescale(out.table(index, table), tosa::Type::kI16, {{*multiplier_of(0x1p-7, ScaleBits::k31)}});
}

Operand look_up_short(TosaBuilder& out, const MantissaTable& of, const Operand& mantissa) {
  const Operand centered = out.binary(tosa::Op::kSub, mantissa, of.center);
  const Operand index = out.rescale(centered, tosa::Type::kI16, {{of.index}});
  return out.binary(tosa::Op::kAdd, out.widened(short_table(out, index, of.table), 0), of.offset >> 7);
}

Operand look_up(TosaBuilder& out, const MantissaTable& of, const Operand& mantissa) {
  const Operand centered = out.binary(tosa::Op::kSub, mantissa, of.center);
  const Operand index = out.rescale(centered, tosa::Type::kI16, {{of.index}});
  return out.binary(tosa::Op::kAdd, out.table(index, of.table), of.offset);
}

Operand floor_shift(TosaBuilder& out, const Operand& x, std::int32_t bits) {
  return out.shift_right(out.binary(tosa::Op::kSub, x, std::int64_t{1} << (bits - 1)), bits);
}

Operand less_than(TosaBuilder& out, std::int64_t number, const Operand& x) {
  return out.binary(tosa::Op::kSub, out.number(x.type, number, x.rank()), x);
}

Operand bounded_bits(TosaBuilder& out, const Operand& x) {
  return out.binary(tosa::Op::kMinimum, out.binary(tosa::Op::kMaximum, x, 0), 31);
}

Operand shift_by(TosaBuilder& out, const Operand& x, const Operand& exponent) {
  const Operand right = bounded_bits(out, less_than(out, 0, exponent));
  return out.shift_left(out.shift_right(x, right), bounded_bits(out, exponent));
}

Operand bounded_for(TosaBuilder& out, const Operand& x, const Multiplier& factor) {
  constexpr std::int32_t kBits = 32;
  if (factor.shift >= kBits) return x;
  const std::int64_t half = std::int64_t{1} << (factor.shift - 1);
  return out.binary(tosa::Op::kMinimum, out.binary(tosa::Op::kMaximum, x, -half), half - 1);
}

}  // namespace isthmus::ethos_u
