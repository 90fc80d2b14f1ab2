// The table of what operators cost on each NPU.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "targets/ethos_u/device.h"

namespace isthmus::ethos_u {

// Operators that cost alike.
enum class CostKind : std::uint8_t {
  kWide,       // elementwise, of 32 bits
  kWideMul,    // a product of 16 bits or less in 32
  kMul,        // and in 16 bits or less
  kAdd,        // sums and differences of 16 bits or less
  kSimple,     // other elementwise ones of 16 bits or less
  kTable,      // a table of 16 bits
  kRescale,    // on its own
  kCopy,       // slices and joins; by byte
  kTranspose,  // by byte
  kSum,        // REDUCE_SUM; by element that is read
  kExtreme,    // REDUCE_MAX, REDUCE_MIN; by byte that is read
  kCount,
};

struct Rate {
  double each = 0;   // cycles of an element
  double fixed = 0;  // of the operator
};

struct Machine {
  std::string_view target;
  bool is_u85 = false;
  double macs = 0;                // in a cycle, of 8 bits
  std::int64_t lanes_across = 1;  // columns that are computed at once,
  std::int64_t lanes_deep = 8;    // and channels
  double elementwise = 1;         // times the rates below
  double weight_bytes = 0;        // that are read in a cycle
  double product = 0;             // cycles of a multiplication of two computed matrices
  double steps_of_4 = 1;          // of a transpose of four axes,
  double steps_of_5 = 1;          // and of more
  std::array<Rate, static_cast<std::size_t>(CostKind::kCount)> rates;
};

// Null where the target is not an NPU.
const Machine* find_machine(std::string_view target);
// What a kind of devices is measured by: the size that most boards have. Null where nothing is known of it.
const Machine* usual_machine(Device device);

}  // namespace isthmus::ethos_u
