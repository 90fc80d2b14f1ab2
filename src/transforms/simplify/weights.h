// Constant weights as numbers, for rewrites that change them.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor.h"
#include "ops/emitter.h"

namespace isthmus {

// The elements in row-major order as doubles; nothing unless they are f32 or f64.
std::optional<std::vector<double>> numbers_of(const TensorView* tensor);

ValueId constant_of(Emitter& emitter, const std::vector<double>& numbers, DType dtype, std::vector<std::int64_t> sizes);

}  // namespace isthmus
