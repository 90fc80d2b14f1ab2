// Integers to another scale, by the widest vectors that the machine has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::tosa {

// out[i] = clamp(in[i] * multiplier[i] / 2^shift[i] + zero), halves upwards. All arrays have a whole number of vectors:
// a multiple of kRescaleBlock.
struct RescaleBlock {
  const std::int32_t* multiplier = nullptr;
  const std::int32_t* shift = nullptr;
  std::int64_t zero = 0;
  std::int64_t min = 0, max = 0;
};
inline constexpr std::size_t kRescaleBlock = 64;  // 32-bit numbers: no machine has wider vectors
void rescale_block(const RescaleBlock& block, const std::int32_t* in, std::size_t count, std::int32_t* out);

}  // namespace isthmus::tosa
