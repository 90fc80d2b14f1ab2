// The table of what operators cost on each NPU.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "targets/ethos_u/device.h"

namespace isthmus::ethos_u {

// Operators that cost alike.
enum class CostKind : std::uint8_t {
  kWide,         // elementwise, of 32 bits
  kWideMul,      // a product of 16 bits or less in 32
  kMul,          // and in 16 bits or less
  kAdd,          // sums and differences of 16 bits or less
  kSimple,       // other elementwise ones of 16 bits or less
  kTable,        // a table of 16 bits
  kRescale,      // on its own; by byte that is read
  kRescaleWide,  // and of 32 bits
  kCopy,         // slices and joins; by byte
  kTranspose,    // by byte
  kSum,          // REDUCE_SUM; by element that is read
  kExtreme,      // REDUCE_MAX, REDUCE_MIN; by byte that is read
  kCount,
};

struct Rate {
  double each = 0;   // cycles of an element
  double fixed = 0;  // of the operator
};

// A block of results that is computed at once.
struct Unit {
  std::int64_t height = 1, width = 1, depth = 8;
};

struct Machine {
  std::string_view target;
  bool is_u85 = false;
  double cores = 1;
  std::array<Unit, 2> units;  // of convolutions: that which wastes less
  Unit unit_by_channel;       // of depthwise ones and pools
  double made = 0;            // cycles of a result of a convolution,
  double made_clamped = 0;    // of one that a CLAMP bounds,
  double made_wide = 0;       // and of sums of 48 bits
  double elementwise = 1;     // times the rates below
  double weight_bytes = 0;    // that are read in a cycle
  double product = 0;         // cycles of a multiplication of two computed matrices
  double steps_of_4 = 1;      // of a transpose of four axes,
  double steps_of_5 = 1;      // and of more
  std::array<Rate, static_cast<std::size_t>(CostKind::kCount)> rates;
};

// Null where the target is not an NPU.
const Machine* find_machine(std::string_view target);
// What a kind of devices is measured by: the size that most boards have. Null where nothing is known of it.
const Machine* usual_machine(Device device);

}  // namespace isthmus::ethos_u
