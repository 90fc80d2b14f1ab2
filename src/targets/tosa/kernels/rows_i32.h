// Rows of 32-bit integers, by the widest vectors that the machine has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::tosa {

enum class Arithmetic : std::uint8_t { kAdd, kSub, kMul, kMax, kMin };

// A step of 1 goes along a row, one of 0 stays at its first number. Overflows wrap around.
void compute_row(Arithmetic kind, const std::int32_t* a, std::int64_t a_step, const std::int32_t* b,
                 std::int64_t b_step, std::int32_t* out, std::size_t count);

}  // namespace isthmus::tosa
