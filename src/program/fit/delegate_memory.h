// What delegates take besides the plan's memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"

namespace isthmus::fit {

// Where a figure comes from.
enum class Source : std::uint8_t { kMeasured, kPayload, kUnknown };

struct DelegateMemory {
  std::string backend;
  std::uint64_t flash = 0;   // of its blob
  std::uint64_t memory = 0;  // beside temp memory: packed weights and a workspace
  std::uint64_t temp = 0;    // of the temp allocator while it runs
  Source source = Source::kUnknown;
};

// XNNPACK delegates are built by the local library and what they allocate is measured; they share one workspace on a
// device, so that the sum is an upper bound. The stream that vela made for an Ethos-U says its scratch memory.
Expected<std::vector<DelegateMemory>> delegate_memory(const pte::Program& program, const pte::Plan& plan);

}  // namespace isthmus::fit
