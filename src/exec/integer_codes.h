// Loops over codes of any width.
#pragma once

#include <cstdint>

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

}  // namespace isthmus
