// The numbers by which ONNX names element types, in tensors and in attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "base/expected.h"

namespace isthmus {

// Fails for strings and for types of less than 8 bits, which no tensor of ours has.
Expected<DType> dtype_from_onnx(std::int64_t number);

}  // namespace isthmus
