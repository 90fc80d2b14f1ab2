// The type of a value: element type and shape, and what its quantized values mean where it is quantized.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "ir/dim.h"

namespace isthmus {

using Shape = std::vector<Dim>;

// How quantized values stand for real numbers: real = scale * (quantized - zero_point).
struct Quant {
  std::vector<float> scales;    // one, or one for each slice along the axis
  std::int32_t zero_point = 0;  // 0 where there are several scales
  std::int32_t axis = -1;       // -1: one scale for the tensor

  float scale() const { return scales[0]; }
  bool operator==(const Quant&) const = default;
};

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  std::optional<Quant> quant = {};  // of integers that stand for real numbers

  std::size_t rank() const { return shape.size(); }
  bool operator==(const TensorType&) const = default;
};

}  // namespace isthmus
