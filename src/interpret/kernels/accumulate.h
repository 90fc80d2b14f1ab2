// In what type sums of products of elements are kept.
#pragma once

#include <cstdint>
#include <type_traits>

namespace isthmus {

// Floats are summed in double, closest to the true value. Integers wrap as PyTorch's do; unsigned, so that it is
// defined.
template <class Number>
using Accumulator = std::conditional_t<std::is_floating_point_v<Number>, double, std::uint64_t>;

}  // namespace isthmus
