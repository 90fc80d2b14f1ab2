// The integers that stand for numbers.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/expected.h"

namespace isthmus {

struct Codes {
  std::int64_t min;
  std::int64_t max;
};
// All of an integer type.
Codes codes_of(DType dtype);
Expected<void> check_codes(Codes codes, DType dtype);

}  // namespace isthmus
