// The integers that stand for numbers.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/expected.h"

namespace isthmus {

struct IntegerRange {
  std::int64_t min;
  std::int64_t max;
};
// All of an integer type.
IntegerRange integer_range(DType dtype);
Expected<void> check_range(IntegerRange range, DType dtype);

}  // namespace isthmus
