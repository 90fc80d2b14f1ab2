// Element types as arguments of calls in program files.
#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace isthmus::pte {

// Nothing where the format has no number for the type, or no type for the number.
std::optional<std::int64_t> number_of(DType dtype);
std::optional<DType> dtype_of_number(std::int64_t number);

}  // namespace isthmus::pte
