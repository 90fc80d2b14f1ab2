// What many ops demand of their inputs and attributes, and the sizes that sliding windows leave.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/expected.h"
#include "ir/attrs.h"
#include "ir/exprs.h"
#include "ir/types.h"

namespace isthmus {

// The reference kernels have arithmetic for every integer type, bool and floats of 16 to 64 bits. Other element types
// are refused as unsupported, which leaves a call foreign.
Expected<void> demand_numbers(const TensorType& type);
// The same without bool, which has no sums.
Expected<void> demand_summable(const TensorType& type);
// Floats only.
Expected<void> demand_floats(const TensorType& type);
Expected<void> demand_same_dtype(const TensorType& a, const TensorType& b);
Expected<void> demand_rank(const TensorType& type, std::size_t rank);
// Two sizes that must be one. Symbolic sizes of which that is not known are unsupported.
Expected<void> demand_equal(Exprs& exprs, Dim a, Dim b, std::string_view what);
// Axes of an attribute: sorted, each once, inside the rank.
Expected<void> demand_axes(const Ints& axes, std::size_t rank);
// `count` numbers, each between `least` and what leaves room for arithmetic on it.
Expected<void> demand_list(const Ints& list, std::size_t count, std::int64_t min, std::string_view what);

// The shape to which two shapes broadcast.
Expected<Shape> broadcast(Exprs& exprs, const Shape& a, const Shape& b);

// One axis under a window: how often it fits when it moves by `stride`.
struct Window {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::int64_t dilation = 1;
};
Dim window_count(Exprs& exprs, Dim size, const Window& window);
// With a last window that may reach beyond the end, as long as it begins inside of the input or the padding before it.
Dim window_count_ceil(Exprs& exprs, Dim size, const Window& window);

}  // namespace isthmus
