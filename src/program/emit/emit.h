// The bytes of the program file.
#pragma once

#include "base/block.h"
#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "program/emit/memory_plan.h"

namespace isthmus {

struct Emitted {
  LargeBytes bytes;
  MemoryPlan memory;
};

// Lays out the memory and writes; equal programs give equal bytes.
Expected<Emitted> emit(pte::Program program);

}  // namespace isthmus
