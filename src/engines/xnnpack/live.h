// What a runtime keeps alive. Only for the files that make and run it.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "engines/xnnpack/library.h"
#include "engines/xnnpack/runtime.h"

namespace isthmus::xnnpack {

struct Runtime::Live {
  xnn::Graph graph;
  std::uint64_t max_bytes = 0;
  std::uint64_t bytes = 0;      // that its values take at their declared shapes
  std::vector<Blob> constants;  // the library keeps pointers into those that it does not pack
  RuntimeHandle runtime;
  std::vector<Dims> shapes;  // of every value, as last reshaped; empty before and after a failure
  std::vector<std::byte*> buffers;
  // The library does not enlarge the memory in which a mean of quantized values keeps its sums. Planned for the
  // declared shapes first, it is large enough for all others.
  bool plans_declared_first = false;

  Expected<void> reshape(const std::vector<Dims>& wanted);
};

}  // namespace isthmus::xnnpack
