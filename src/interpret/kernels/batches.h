// Batches of matrices that broadcast: all axes but the last two.
#pragma once

#include <cstdint>
#include <vector>

#include "interpret/tensor.h"

namespace isthmus {

// The sizes of a tensor's batch.
std::vector<std::int64_t> batch_of(const Tensor& tensor);

// Where a part of a tensor whose own batch has these sizes begins for each one of the whole batch, counted in parts;
// axes of size 1 stay where they are.
std::vector<std::int64_t> batch_places(const std::vector<std::int64_t>& own, const std::vector<std::int64_t>& batch);

}  // namespace isthmus
