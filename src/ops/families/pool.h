// Pools whose sizes adapt, which come down to other ops where they can.
#pragma once

#include "ops/call.h"

namespace isthmus {

// A pool over one axis is one over two of which the first has size 1, and one without a batch has a batch of 1.
struct PoolInput {
  ValueId value;
  std::size_t spatial = 2;  // axes of the spelling: 1, 2 or 3
  bool is_unbatched = false;

  std::size_t axes() const { return spatial == 1 ? 2 : spatial; }
};
Expected<PoolInput> pool_input(Call& call, std::size_t spatial);
Expected<ValueId> pool_result(Call& call, const PoolInput& input, ValueId result);

Expected<std::vector<ValueId>> read_adaptive_avg_pool1d(Call& call);
Expected<std::vector<ValueId>> read_adaptive_avg_pool2d(Call& call);
Expected<std::vector<ValueId>> read_adaptive_avg_pool3d(Call& call);
Expected<std::vector<ValueId>> read_adaptive_max_pool1d(Call& call);
Expected<std::vector<ValueId>> read_adaptive_max_pool2d(Call& call);
Expected<std::vector<ValueId>> read_adaptive_max_pool3d(Call& call);

}  // namespace isthmus
