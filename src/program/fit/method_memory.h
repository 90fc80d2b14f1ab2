// What ExecuTorch's runtime takes from its method allocator when it loads a method.
#pragma once

#include <cstdint>

#include "formats/executorch/pte.h"

namespace isthmus::fit {

// Of a processor with pointers of 4 or of 8 bytes, as version 1.5.0 of the runtime lays out its structures.
struct MethodMemory {
  std::uint64_t values = 0;        // values, and the lists and tensors behind them
  std::uint64_t delegates = 0;     // their handles; those of XNNPACK, which depend on how it was built, about so
  std::uint64_t instructions = 0;  // calls and their arguments
  std::uint64_t bytes = 0;         // of all, with what alignment leaves between them
  // To find kernels by the types of their arguments: of the temp allocator where that has as much, and else once for
  // each call of the method allocator.
  std::uint64_t lookup_temp = 0;
  std::uint64_t lookup_without_temp = 0;
};
MethodMemory method_memory(const pte::Plan& plan, std::uint64_t pointer_bytes);

}  // namespace isthmus::fit
