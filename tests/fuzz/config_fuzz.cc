// Reads arbitrary text as a quant.toml.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "quantize/config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = isthmus::read_config({reinterpret_cast<const char*>(data), size}, "quant.toml");
  if (!config && config.error().text().empty()) __builtin_trap();
  return 0;
}
