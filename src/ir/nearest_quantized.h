// From real numbers to integers.
#pragma once

#include <cmath>

#include "ir/types.h"

namespace isthmus {

// The integer nearest to a number, half to even. It may lie outside of every integer type, and be NaN.
inline double nearest_code(double number, const Quant& quant) {
  return std::nearbyint(number / static_cast<double>(quant.scale())) + quant.zero_point;
}

}  // namespace isthmus
