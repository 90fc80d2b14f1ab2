// Steps that several composites take on numbers of 32 bits: their forms say why.
#pragma once

#include "targets/ethos_u/forms/builder.h"

namespace isthmus::ethos_u {

// The table's result rounded to 16 bits: one step on NPUs, where 32 bits are six.
Operand short_table(TosaBuilder& out, const Operand& index, const Table16& table);
// SUB of the center, RESCALE to i16, TABLE, ADD of the offset.
Operand look_up(TosaBuilder& out, const MantissaTable& of, const Operand& mantissa);
// The same with a short table: the offset is in its units.
Operand look_up_short(TosaBuilder& out, const MantissaTable& of, const Operand& mantissa);
// The floor of x / 2^bits, by a shift that rounds.
Operand floor_shift(TosaBuilder& out, const Operand& x, std::int32_t bits);
// number - x
Operand less_than(TosaBuilder& out, std::int64_t number, const Operand& x);
// x as bits of a shift: 0 to 31.
Operand bounded_bits(TosaBuilder& out, const Operand& x);
// x * 2^exponent, rounded where the exponent is negative.
Operand shift_by(TosaBuilder& out, const Operand& x, const Operand& exponent);
// x in the range for which RESCALE by this factor is defined. What lies beyond saturates either way.
Operand bounded_for(TosaBuilder& out, const Operand& x, const Multiplier& factor);

}  // namespace isthmus::ethos_u
