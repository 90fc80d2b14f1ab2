// Axis by axis, from the outermost.
#include "interpret/kernels/batches.h"

#include <utility>

namespace isthmus {

std::vector<std::int64_t> batch_of(const Tensor& tensor) { return {tensor.sizes().begin(), tensor.sizes().end() - 2}; }

std::vector<std::int64_t> batch_places(const std::vector<std::int64_t>& own, const std::vector<std::int64_t>& batch) {
  std::vector<std::int64_t> places{0};
  const std::size_t lead = batch.size() - own.size();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::int64_t size = i < lead ? 1 : own[i - lead];
    std::vector<std::int64_t> next;
    for (const std::int64_t place : places) {
      for (std::int64_t k = 0; k < batch[i]; ++k) next.push_back(place * size + (size == 1 ? 0 : k));
    }
    places = std::move(next);
  }
  return places;
}

}  // namespace isthmus
