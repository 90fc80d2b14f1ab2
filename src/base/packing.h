// Places blocks with lifetimes in one memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace isthmus {

// A block that is needed from step `first` to step `last`, both included.
struct Block {
  std::uint64_t size = 0;
  std::size_t first = std::numeric_limits<std::size_t>::max();
  std::size_t last = 0;

  void touch(std::size_t step) {
    first = step < first ? step : first;
    last = step > last ? step : last;
  }
};

struct Packing {
  std::vector<std::uint64_t> offsets;  // of the blocks
  std::uint64_t bytes = 0;
  std::uint64_t lower_bound = 0;  // no packing needs less: the most that is alive at one step
};

// Blocks whose lives overlap lie apart. Largest first, each at the lowest offset where it fits; sizes are rounded up to
// the alignment.
Packing pack(std::vector<Block> blocks, std::uint64_t alignment);

}  // namespace isthmus
