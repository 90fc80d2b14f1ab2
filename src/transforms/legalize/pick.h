// Positions of an axis that are known now, taken by copying: what flips, steps, mirrors and constant indices come to.
#pragma once

#include "ops/families/movement.h"
#include "ops/rewrite.h"

namespace isthmus::rewrites {

// A constant that is made for a form has at most this many numbers.
inline constexpr std::int64_t kMaxWeights = std::int64_t{1} << 20;

// Whether the delegate can reshape it: of all sizes at most one is known only when the model runs.
bool can_reshape(const Shape& shape);

// The axis' elements at these positions, which lie inside of it. By slices, joins and reshapes, so that every number is
// copied whatever it is; by a product with ones and zeros only where too many of those would be needed. Nothing where
// the axis is symbolic, where a reshape cannot be had, or where the product would be too large.
Replacement pick(const Site& site, ValueId x, std::int64_t axis, const Ints& positions);

// The axis backwards; nothing as above.
Replacement reversed(const Site& site, ValueId x, std::int64_t axis);

// `count` copies of the value, one behind the other along the axis.
Expected<ValueId> repeated(Emitter& emitter, ValueId x, std::int64_t axis, std::int64_t count);

// With copies of one number before and after the axis.
struct Sides {
  std::int64_t before = 0;
  std::int64_t after = 0;
};
Expected<ValueId> padded(Emitter& emitter, ValueId x, std::int64_t axis, Sides sides, double value = 0);

// One axis moved behind all others, which keep their order.
Expected<Moved> moved_last(Emitter& emitter, ValueId x, std::int64_t axis);

// Each row of a matrix times the axis: its numbers row by row, as many rows as the new axis has elements.
Expected<ValueId> product_along(Emitter& emitter, ValueId x, std::int64_t axis, const std::vector<double>& matrix);

}  // namespace isthmus::rewrites
