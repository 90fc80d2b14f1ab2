// Products of sizes.
#include "quantize/plan/elements.h"

#include <algorithm>

namespace isthmus {

std::uint64_t elements_of(const Graph& graph, ValueId id) {
  constexpr std::int64_t kLargestSize = 1 << 20;
  constexpr std::uint64_t kMax = std::uint64_t{1} << 40;
  std::uint64_t count = 1;
  for (const Dim dim : graph.type(id).shape) {
    const std::int64_t size = dim.is_fixed() ? dim.value() : graph.exprs().bounds(dim).min.value_or(1);
    count = std::min(count * static_cast<std::uint64_t>(std::clamp<std::int64_t>(size, 1, kLargestSize)), kMax);
  }
  return count;
}

}  // namespace isthmus
