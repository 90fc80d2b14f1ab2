// What convolutions and products of matrices cost on an NPU, as Vela counts it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "targets/ethos_u/cost_table.h"

namespace isthmus::ethos_u {

// Of a / b.
inline double ceiling(double a, double b) { return std::ceil(a / b); }

struct Product {
  bool is_depthwise = false;
  std::vector<std::int32_t> made;  // [N, H, W, C]
  double depth = 0;                // channels that are read
  std::int32_t kernel_y = 1, kernel_x = 1;
  double bits = 8;          // of what is read
  bool is_clamped = false;  // a CLAMP bounds the result
};
// Without the weights, which may take longer to read.
double cycles_of(const Machine& machine, const Product& product);

}  // namespace isthmus::ethos_u
