// The element types that a tensor can have, and what is known of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace isthmus {

enum class DType : std::uint8_t {
#define DTYPE(enumerator, ...) enumerator,
#include "base/dtypes.def"
#undef DTYPE
};

enum class DTypeClass : std::uint8_t { kBool, kUnsigned, kSigned, kFloat, kComplex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // in the text form and in messages: "f32"
  std::size_t bytes;
  DTypeClass kind;
};

const DTypeInfo& info(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

inline std::string_view name_of(DType dtype) { return info(dtype).name; }
inline std::size_t size_of(DType dtype) { return info(dtype).bytes; }
inline bool is_floating(DType dtype) { return info(dtype).kind == DTypeClass::kFloat; }
inline bool is_complex(DType dtype) { return info(dtype).kind == DTypeClass::kComplex; }
// Signed or unsigned integers; bool is none.
inline bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeClass::kUnsigned || info(dtype).kind == DTypeClass::kSigned;
}

}  // namespace isthmus
