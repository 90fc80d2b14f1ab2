// What reader and writer of program files both know: the header's place, and the element types by their numbers.
#pragma once

#include <cstddef>
#include <optional>

#include "base/dtype.h"
#include "formats/schema/program_generated.h"

namespace isthmus::pte {

inline constexpr std::size_t kHeaderOffset = 8;

struct ScalarTypeRow {
  pte_wire::ScalarType wire;
  DType dtype;
};

inline constexpr ScalarTypeRow kScalarTypes[] = {
    {pte_wire::ScalarType::U8, DType::kU8},
    {pte_wire::ScalarType::I8, DType::kI8},
    {pte_wire::ScalarType::I16, DType::kI16},
    {pte_wire::ScalarType::I32, DType::kI32},
    {pte_wire::ScalarType::I64, DType::kI64},
    {pte_wire::ScalarType::F16, DType::kF16},
    {pte_wire::ScalarType::F32, DType::kF32},
    {pte_wire::ScalarType::F64, DType::kF64},
    {pte_wire::ScalarType::Bool, DType::kBool},
    {pte_wire::ScalarType::BF16, DType::kBF16},
    {pte_wire::ScalarType::F8E5M2, DType::kF8E5M2},
    {pte_wire::ScalarType::F8E4M3FN, DType::kF8E4M3FN},
    {pte_wire::ScalarType::F8E5M2FNUZ, DType::kF8E5M2FNUZ},
    {pte_wire::ScalarType::F8E4M3FNUZ, DType::kF8E4M3FNUZ},
    {pte_wire::ScalarType::U16, DType::kU16},
    {pte_wire::ScalarType::U32, DType::kU32},
    {pte_wire::ScalarType::U64, DType::kU64},
};

inline std::optional<DType> dtype_of(pte_wire::ScalarType wire) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.wire == wire) return row.dtype;
  }
  return std::nullopt;
}

inline std::optional<pte_wire::ScalarType> scalar_type_of(DType dtype) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.dtype == dtype) return row.wire;
  }
  return std::nullopt;
}

}  // namespace isthmus::pte
