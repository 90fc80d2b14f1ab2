// The steps, operator by operator.
#include "targets/ethos_u/forms/mantissa.h"

namespace isthmus::ethos_u {

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

}  // namespace isthmus::ethos_u
