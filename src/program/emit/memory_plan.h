// Lays out a program's memory: tensors whose lives overlap lie apart, the others may share.
#pragma once

#include <cstdint>

#include "formats/executorch/pte.h"

namespace isthmus {

struct MemoryPlan {
  std::uint64_t bytes = 0;        // of the memory that the program asks for
  std::uint64_t lower_bound = 0;  // no layout needs less: the most that is alive at one time
};

// Gives every tensor with an allocation its offset and the plan its sizes. Inputs live from the start, outputs to the
// end, states from one run to the next. Largest first, each at the lowest offset where it fits.
MemoryPlan plan_memory(pte::Plan& plan);

}  // namespace isthmus
