// The bytes of the program file.
#pragma once

#include <cstddef>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "program/emit/memory_plan.h"

namespace isthmus {

struct Emitted {
  std::vector<std::byte> bytes;
  MemoryPlan memory;
};

// Lays out the memory and writes; equal programs give equal bytes.
Expected<Emitted> emit(pte::Program program);

}  // namespace isthmus
