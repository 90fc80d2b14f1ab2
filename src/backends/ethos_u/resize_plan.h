// The numbers of TOSA's RESIZE that compute what a resize2d computes.
#pragma once

#include <optional>

#include "ir/attrs.h"

namespace isthmus::ethos_u {

struct ResizePlan {
  bool is_bilinear = false;
  Ints scale;   // [n y, d y, n x, d x]
  Ints offset;  // [y, x]
  Ints border;  // [y, x]
};

// For an image of this height and width. Nothing where none do: cubic, or a ratio that is not that of the sizes.
std::optional<ResizePlan> resize_plan(const ResizeAttrs& attrs, const Ints& size);

}  // namespace isthmus::ethos_u
