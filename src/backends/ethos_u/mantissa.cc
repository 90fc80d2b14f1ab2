// The steps, operator by operator.
#include "backends/ethos_u/mantissa.h"

namespace isthmus::ethos_u {

Operand look_up(TosaBuilder& out, const MantissaTable& of, const Operand& mantissa) {
  const Operand centered = out.binary(tosa::Op::kSub, mantissa, of.center);
  const Operand index = out.rescale(centered, tosa::Type::kI16, {{of.index}});
  return out.binary(tosa::Op::kAdd, out.table(index, of.table), of.offset);
}

Operand floor_shift(TosaBuilder& out, const Operand& x, std::int32_t bits) {
  return out.shift_right(out.binary(tosa::Op::kSub, x, std::int64_t{1} << (bits - 1)), bits);
}

Operand shift_by(TosaBuilder& out, const Operand& x, const Operand& exponent) {
  const auto bounded = [&](const Operand& bits) {
    return out.binary(tosa::Op::kMinimum, out.binary(tosa::Op::kMaximum, bits, 0), 31);
  };
  const Operand zero = out.number(exponent.type, 0, exponent.rank());
  const Operand right = bounded(out.binary(tosa::Op::kSub, zero, exponent));
  return out.shift_left(out.shift_right(x, right), bounded(exponent));
}

}  // namespace isthmus::ethos_u
