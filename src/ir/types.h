// The type of a value: element type and shape.
#pragma once

#include <vector>

#include "base/dtype.h"
#include "ir/dim.h"

namespace isthmus {

using Shape = std::vector<Dim>;

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  std::size_t rank() const { return shape.size(); }
  bool operator==(const TensorType&) const = default;
};

}  // namespace isthmus
