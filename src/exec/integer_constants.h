// Numbers that follow from scales before anything runs: what integer kernels compute with, and what the lowering to
// TOSA writes into its file as constants.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "ir/types.h"

namespace isthmus {

struct CodeRange {
  std::int32_t min;
  std::int32_t max;
};
// Of i8, u8 and i16.
CodeRange code_range(DType dtype);

// A real factor as RESCALE takes it: value -> (value * multiplier + 2^(shift - 1)) >> shift.
struct Multiplier {
  std::int32_t multiplier = 0;
  std::int32_t shift = 2;  // 2..62

  std::int64_t apply(std::int64_t value) const {
    return (value * multiplier + (std::int64_t{1} << (shift - 1))) >> shift;
  }
  bool operator==(const Multiplier&) const = default;
};

// Bits of a multiplier: 31 for values of up to 32 bits, 15 for values of 48.
enum class ScaleBits : std::uint8_t { k31 = 31, k15 = 15 };

// Nothing where the factor is too large (2^29, or 2^13 for 15 bits), negative, or no number. Factors below 2^-62 lose
// bits until they are 0.
std::optional<Multiplier> multiplier_of(double factor, ScaleBits bits);

}  // namespace isthmus
