// Integers as TOSA computes with them. Where it leaves a result open, because one overflows, numbers wrap around.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace isthmus::tosa {

// The low bits, as a number of the type.
template <class Number>
constexpr Number wrapped(std::int64_t value) {
  return static_cast<Number>(static_cast<std::uint64_t>(value));
}
// In 48 bits, which is what elements of 64 bits stand for.
constexpr std::int64_t wrapped_48(std::int64_t value) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << 16) >> 16;
}
// Sums of a dot product: into the output's type.
template <class Number>
constexpr Number from_sum(std::int64_t sum) {
  if constexpr (sizeof(Number) == 8) {
    return wrapped_48(sum);
  } else {
    return wrapped<Number>(sum);
  }
}
constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <class Number>
constexpr Number saturated(std::int64_t value) {
  return static_cast<Number>(
      std::clamp<std::int64_t>(value, std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()));
}

// value * multiplier / 2^shift, halves upwards. The value has 32 bits and the multiplier 31, or 48 and 15; the shift is
// 2 to 62, so nothing overflows. With two roundings, as some hardware does it, large shifts first round to 31 bits.
constexpr std::int64_t scaled(std::int64_t value, std::int32_t multiplier, std::int32_t shift, bool is_double = false) {
  std::int64_t round = std::int64_t{1} << (shift - 1);
  if (is_double && shift > 31) round += value >= 0 ? std::int64_t{1} << 30 : -(std::int64_t{1} << 30);
  return (value * multiplier + round) >> shift;
}

// Whether the standard says what that is: with a multiplier of 32 bits for numbers below half of 2^shift, with one of
// 16 bits for results of 32 bits.
constexpr bool is_scaled(std::int64_t value, std::int32_t multiplier, std::int32_t shift, bool has_wide_multiplier) {
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  if (has_wide_multiplier) return value >= -half && value < half;
  const std::int64_t result = scaled(value, multiplier, shift);
  return result >= std::numeric_limits<std::int32_t>::min() && result <= std::numeric_limits<std::int32_t>::max();
}

// The same in float, halves to even, and with the zero point of the result: what the reference model computes where
// rounding may be inexact. Each sum and product is exact in double, so that no machine can round it otherwise.
inline std::int64_t scaled_in_float(std::int64_t value, std::int32_t multiplier, std::int32_t shift,
                                    std::int64_t zero) {
  const double scale = std::ldexp(static_cast<double>(static_cast<float>(multiplier)), -shift);
  const auto product = static_cast<float>(static_cast<double>(static_cast<float>(value)) * scale);
  const auto sum = static_cast<float>(static_cast<double>(product) + static_cast<double>(zero));
  return static_cast<std::int64_t>(std::nearbyint(sum));
}

struct Scale {
  std::int32_t multiplier = 0;
  std::int32_t shift = 0;
};
// The scale that divides by a count, for averages.
constexpr Scale reciprocal(std::uint32_t count) {
  std::int32_t bits = 0;
  while (bits < 32 && (std::uint64_t{1} << bits) < count) ++bits;
  const std::uint64_t numerator = ((std::uint64_t{1} << 30) + 1) << bits;
  return {static_cast<std::int32_t>(numerator / count), 30 + bits};
}

}  // namespace isthmus::tosa
