// TOSA's operators on single numbers of 32 bits, as the steps of composites. What leaves 32 bits wraps around: no step
// of ours does so, whatever the codes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "exec/integer_constants.h"

namespace isthmus::steps {

inline std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(value); }

inline std::int32_t add(std::int32_t a, std::int32_t b) { return wrap(std::int64_t{a} + b); }
inline std::int32_t sub(std::int32_t a, std::int32_t b) { return wrap(std::int64_t{a} - b); }
// MUL with a shift of 0..62.
inline std::int32_t mul(std::int32_t a, std::int32_t b, std::int32_t shift = 0) {
  const std::int64_t product = std::int64_t{a} * b;
  return wrap(shift == 0 ? product : (product + (std::int64_t{1} << (shift - 1))) >> shift);
}
// ARITHMETIC_RIGHT_SHIFT with rounding, halves up; the shift is 0..31.
inline std::int32_t shift_right(std::int32_t value, std::int32_t shift) {
  return shift == 0 ? value : wrap((std::int64_t{value} + (std::int64_t{1} << (shift - 1))) >> shift);
}
// LOGICAL_LEFT_SHIFT by 0..31.
inline std::int32_t shift_left(std::int32_t value, std::int32_t shift) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << shift);
}
// To the left, or where the exponent is negative to the right: both shifts, each by what is not negative.
inline std::int32_t shift_by(std::int32_t value, std::int32_t exponent) {
  return shift_left(shift_right(value, std::clamp(-exponent, 0, 31)), std::clamp(exponent, 0, 31));
}
// floor(value / 2^shift) by a shift that rounds: ADD of -2^(shift - 1), ARITHMETIC_RIGHT_SHIFT.
inline std::int32_t floor_shift(std::int32_t value, std::int32_t shift) {
  return shift_right(sub(value, 1 << (shift - 1)), shift);
}
inline std::int32_t clz(std::int32_t value) { return std::countl_zero(static_cast<std::uint32_t>(value)); }

// RESCALE i32 -> i16 without zero points.
inline std::int32_t rescale_to_i16(std::int32_t value, const Multiplier& factor) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(factor.apply(value), -32768, 32767));
}
// SUB of the center, RESCALE to i16, TABLE, ADD of the offset.
inline std::int32_t look_up(const MantissaTable& of, std::int32_t mantissa) {
  return add(of.table(rescale_to_i16(sub(mantissa, of.center), of.index)), of.offset);
}

}  // namespace isthmus::steps
