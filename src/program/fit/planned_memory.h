// Who makes the peak of a plan's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/executorch/pte.h"

namespace isthmus::fit {

struct PlannedTensor {
  pte::ValueIndex value = 0;
  std::string role;  // "input_0", "output_1", "state", or empty
  std::string type;  // "f32[1,3,48,48]"
  std::uint64_t bytes = 0;
};

struct PlannedMemory {
  std::uint32_t id = 1;
  std::uint64_t bytes = 0;          // as the file asks for
  std::uint64_t min = 0;            // the most that is alive at one instruction: no plan needs less
  std::size_t instruction = 0;      // where that is
  std::vector<PlannedTensor> peak;  // alive there, the largest first
};

// By memory id, from 1 on.
std::vector<PlannedMemory> planned_memory(const pte::Plan& plan);

}  // namespace isthmus::fit
