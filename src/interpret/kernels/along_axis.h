// What kernels that run along one axis share: its lines, and the order of numbers in them.
#pragma once

#include <cstdint>

#include "interpret/kernel.h"

namespace isthmus {

// Calls use(first element, stride, size) for each line along the axis.
template <class Use>
void for_each_line(const Tensor& tensor, std::int64_t axis, Use use) {
  if (tensor.count() == 0) return;
  const std::int64_t size = tensor.size(axis);
  std::int64_t stride = 1;
  for (std::int64_t i = axis + 1; i < tensor.rank(); ++i) stride *= tensor.size(i);
  for (std::int64_t outer = 0; outer < tensor.count(); outer += size * stride) {
    for (std::int64_t inner = 0; inner < stride; ++inner) use(outer + inner, stride, size);
  }
}

// NaN is the greatest number of all.
template <class Number>
bool is_less(Number a, Number b) {
  return (!is_nan(a) && is_nan(b)) || a < b;
}

}  // namespace isthmus
