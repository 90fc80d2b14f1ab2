// From sums to quantized values: times a factor in f32, rounded to even, plus the zero point, saturated.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "interpret/quantized_types.h"

namespace isthmus::xnnpack {

class Requantizer {
 public:
  Requantizer(float factor, DType quantized, std::int32_t zero_point)
      : factor_(factor),
        zero_point_(zero_point),
        min_(static_cast<float>(quantized_range(quantized).min - zero_point)),
        max_(static_cast<float>(quantized_range(quantized).max - zero_point)) {}

  // Sums that do not fit 32 bits wrap around.
  std::int32_t operator()(std::int64_t sum) const {
    const float number = static_cast<float>(static_cast<std::int32_t>(sum)) * factor_;
    // NaN becomes the greatest quantized value, as it does there.
    const float bounded = number < max_ ? std::max(number, min_) : max_;
    return static_cast<std::int32_t>(std::lrint(bounded)) + zero_point_;
  }

 private:
  float factor_;
  std::int32_t zero_point_;
  float min_;
  float max_;
};

}  // namespace isthmus::xnnpack
