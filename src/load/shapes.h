// The sizes for which a model is compiled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus {

// What the user asks for; the bounds in the file decide the rest.
struct ShapeRequest {
  std::map<std::string, std::vector<std::int64_t>> inputs;  // by name of an input, or input_0, input_1, ...
  std::optional<std::int64_t> batch;                        // the first size of every input
  std::optional<std::int64_t> most_batch;                   // its upper bound
  bool all_fixed = false;                                   // the target takes no sizes that differ between runs
};

// Errors name the input and both shapes. A size without an upper bound is fixed to the example's, with a warning, and
// so is every other one where all must be fixed and there is an example.
Expected<Graph> with_requested_shapes(const Graph& graph, const ShapeRequest& request, Diagnostics& diagnostics);

}  // namespace isthmus
