// What is known of sizes and values before the model runs.
#pragma once

#include <cstdint>
#include <optional>

#include "base/expected.h"
#include "ir/attrs.h"
#include "ir/exprs.h"
#include "ir/graph.h"
#include "ir/types.h"

namespace isthmus {

// Constants and lists of positions that a reader makes have at most this many elements.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 22;

// Whatever the symbols turn out to be, a is not b.
bool surely_differ(Exprs& exprs, Dim a, Dim b);
// Whatever the symbols turn out to be, a > b.
bool surely_exceeds(Exprs& exprs, Dim a, Dim b);

// No size is negative, and the product of all sizes fits 63 bits with room for the bytes of an element.
Expected<void> demand_countable(const TensorType& type);

// The elements of a constant of integers or bools in row-major order; nothing for other values and for large ones.
std::optional<Ints> known_integers(const Graph& graph, ValueId value);

// The elements in row-major order as doubles; nothing unless they are f32 or f64.
std::optional<std::vector<double>> numbers_of(const TensorView* tensor);

// All sizes as numbers; nothing if one of them is symbolic.
std::optional<Ints> fixed_sizes(const Shape& shape);

}  // namespace isthmus
