// The kinds of devices behind the targets: all that their descriptions differ in.
#pragma once

#include <cstdint>

namespace isthmus::ethos_u {

enum class Device : std::uint8_t {
  kTosaInt,  // whatever runs the integer profile of TOSA 1.0 with 16 bits, at level 8K
  kU55,      // Ethos-U55, and Ethos-U65, which takes the same
  kU85,      // Ethos-U85
};

// Sets of devices, for rows of tables.
using Devices = std::uint8_t;
constexpr Devices only(Device device) { return static_cast<Devices>(1U << static_cast<unsigned>(device)); }
inline constexpr Devices kEverywhere = 7;
inline constexpr Devices kOnU55 = only(Device::kU55);
inline constexpr Devices kOnEthosU = kOnU55 | only(Device::kU85);
constexpr bool has(Devices devices, Device device) { return (devices & only(device)) != 0; }

}  // namespace isthmus::ethos_u
