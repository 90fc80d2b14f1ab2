// Tables whose numbers are kept as two int8 parts side by side.
#pragma once

#include <optional>

#include "base/tensor.h"
#include "ir/types.h"

namespace isthmus {

// Each row is twice as long: first the numbers in steps of `quant`, then what that loses, in steps that are smaller by
// `factor`.
struct TwoParts {
  TensorView numbers;
  Quant quant;
  double factor = 1;
};

// Nothing where 8 bits are enough, and where some numbers are not finite. The table is f32 and has a last axis.
std::optional<TwoParts> in_two_parts(const TensorView& table);

}  // namespace isthmus
