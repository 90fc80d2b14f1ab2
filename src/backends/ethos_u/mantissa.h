// Steps that several composites take on numbers of 32 bits: the integer kernels say why.
#pragma once

#include "backends/ethos_u/builder.h"

namespace isthmus::ethos_u {

// SUB of the center, RESCALE to i16, TABLE, ADD of the offset.
Operand look_up(TosaBuilder& out, const MantissaTable& of, const Operand& mantissa);
// The floor of x / 2^bits, by a shift that rounds.
Operand floor_shift(TosaBuilder& out, const Operand& x, std::int32_t bits);
// x * 2^exponent, rounded where the exponent is negative.
Operand shift_by(TosaBuilder& out, const Operand& x, const Operand& exponent);

}  // namespace isthmus::ethos_u
