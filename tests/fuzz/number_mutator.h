// A mutator for flatbuffers: they are offsets, counts and indices, so numbers in their places are changed as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

// Weak: not there where the seeds are only replayed.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

namespace isthmus::fuzz {

// Another number of this many bytes; `below(n)` draws one below n.
template <class Below>
std::uint64_t changed_number(std::uint64_t number, std::size_t width, const Below& below) {
  switch (below(5)) {
    case 0:
      return number + below(9);
    case 1:
      return number - below(9);
    case 2:
      return below(2) == 0 ? below(16) : ~std::uint64_t{below(2)};
    case 3:
      return number ^ std::uint64_t{1} << below(width * 8);
    default:
      return number << below(4);
  }
}

// Half of the time what libFuzzer itself would do.
inline std::size_t mutate_numbers(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  if (size < 16 || below(2) == 0) return LLVMFuzzerMutate(data, size, max);
  const std::size_t width = std::size_t{1} << below(4);
  const auto place = [&] { return below(size / width) * width; };
  const std::size_t at = place();
  std::uint64_t number = 0;
  std::memcpy(&number, data + at, width);
  if (below(6) == 0) {  // what stands elsewhere: offsets and indices that make sense, only not here
    std::memcpy(&number, data + place(), width);
  } else {
    number = changed_number(number, width, below);
  }
  std::memcpy(data + at, &number, width);
  return size;
}

}  // namespace isthmus::fuzz
