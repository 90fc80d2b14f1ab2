// The scales and zero points that the inputs of quantize and dequantize give.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "interpret/kernel.h"

namespace isthmus {

// Scale and zero point of each slice along an axis; of the whole tensor when the axis is -1.
template <class Scale, class ZeroPoint>
struct SliceParameters {
  std::vector<Scale> scales;
  std::vector<ZeroPoint> zero_points;
  std::size_t inner = 1;  // elements with the same parameters in a row

  // Which of them element i has.
  std::size_t of(std::size_t i) const { return i / inner % scales.size(); }
};

template <class Scale, class ZeroPoint>
Expected<SliceParameters<Scale, ZeroPoint>> slice_parameters(const Tensor& data, std::int64_t axis,
                                                             std::vector<Scale> scales,
                                                             std::vector<ZeroPoint> zero_points) {
  std::int64_t inner = axis < 0 ? data.count() : 1;
  for (std::int64_t i = axis + 1; axis >= 0 && i < data.rank(); ++i) inner *= data.size(i);
  const std::size_t count = axis < 0 ? 1 : static_cast<std::size_t>(data.size(axis));
  if (scales.size() != count || zero_points.size() != count) return bad_input("not as many scales as slices");
  return SliceParameters<Scale, ZeroPoint>{std::move(scales), std::move(zero_points),
                                           static_cast<std::size_t>(std::max<std::int64_t>(inner, 1))};
}

}  // namespace isthmus
