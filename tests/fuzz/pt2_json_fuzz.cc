// Reads arbitrary text as the JSON of an exported program.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/torch/pt2_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto program = isthmus::pt2::read_program({reinterpret_cast<const char*>(data), size});
  if (!program && program.error().text().empty()) __builtin_trap();
  return 0;
}
