// Types of codes: their range, and loops over codes of any width.
#pragma once

#include <cstdint>
#include <limits>

#include "base/check.h"
#include "base/dtype.h"

namespace isthmus {

// Calls `use` with a number of the codes' C++ type.
template <class Use>
auto with_codes(DType dtype, Use use) {
  switch (dtype) {
    case DType::kI8:
      return use(std::int8_t{});
    case DType::kU8:
      return use(std::uint8_t{});
    default:
      CHECK(dtype == DType::kI16, "codes have 8 or 16 bits");
      return use(std::int16_t{});
  }
}

struct CodeRange {
  std::int32_t min;
  std::int32_t max;
};
// Of i8, u8 and i16.
inline CodeRange code_range(DType dtype) {
  return with_codes(dtype, []<class Code>(Code) {
    return CodeRange{std::numeric_limits<Code>::min(), std::numeric_limits<Code>::max()};
  });
}
// Of two types of codes the one with more bits.
inline DType wider(DType a, DType b) { return size_of(a) < size_of(b) ? b : a; }

}  // namespace isthmus
