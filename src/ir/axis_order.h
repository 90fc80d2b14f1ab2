// In which order the axes of a value lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace isthmus {

// Axes from the outermost in memory to the innermost.
using Order = std::vector<std::uint8_t>;

inline Order row_major(std::size_t rank) {
  Order order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::uint8_t>(i);
  return order;
}
// Of an image [N, C, H, W]: N, H, W, C.
inline const Order kChannelsLast{0, 2, 3, 1};

}  // namespace isthmus
