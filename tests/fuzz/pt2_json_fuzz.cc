// Reads arbitrary text as the JSON of an exported program.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "formats/torch/pt2_program.h"
#include "fuzz/json_mutator.h"

// Weak: not there where the seeds are only replayed.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto program = isthmus::pt2::read_program({reinterpret_cast<const char*>(data), size});
  if (!program && program.error().text().empty()) __builtin_trap();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 2 == 0) {
    const std::string out = isthmus::fuzz::JsonMutator(random).mutated({reinterpret_cast<const char*>(data), size});
    if (!out.empty() && out.size() <= max) {
      std::memcpy(data, out.data(), out.size());
      return out.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max);
}
