// Types of quantized values: their range, and loops over quantized values of any width.
#pragma once

#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/dtype.h"

namespace isthmus {

// Calls `use` with a number of the quantized values' C++ type.
template <class Use>
auto with_quantized_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::kI8:
      return use(std::int8_t{});
    case DType::kU8:
      return use(std::uint8_t{});
    default:
      CHECK(dtype == DType::kI16, "quantized values have 8 or 16 bits");
      return use(std::int16_t{});
  }
}

struct QuantizedRange {
  std::int32_t min;
  std::int32_t max;
};
// Of i8, u8 and i16.
inline QuantizedRange quantized_range(DType dtype) {
  return with_quantized_type(dtype, []<class Int>(Int) {
    return QuantizedRange{std::numeric_limits<Int>::min(), std::numeric_limits<Int>::max()};
  });
}
// Of two types of quantized values the one with more bits.
inline DType wider(DType a, DType b) { return size_of(a) < size_of(b) ? b : a; }

}  // namespace isthmus
