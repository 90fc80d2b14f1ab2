// Element types by their numbers.
#include "formats/executorch/pte_element_types.h"

#include "formats/executorch/pte_types.h"

namespace isthmus::pte {

std::optional<std::int64_t> number_of(DType dtype) {
  const auto wire = scalar_type_of(dtype);
  if (!wire) return std::nullopt;
  return static_cast<std::int64_t>(*wire);
}

std::optional<DType> dtype_of_number(std::int64_t number) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (static_cast<std::int64_t>(row.wire) == number) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace isthmus::pte
