// The sizes for which a model is compiled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.h"
#include "base/expected.h"
#include "base/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// What the user asks for; the bounds in the file decide the rest.
struct ShapeRequest {
  std::map<std::string, std::vector<std::int64_t>> inputs;  // by name of an input, or input_0, input_1, ...
  std::optional<std::int64_t> batch;                        // the first size of every input
  std::optional<std::int64_t> max_batch;                    // its upper bound
};

// What a target does with sizes that the model leaves open.
enum class SizesWanted : std::uint8_t {
  kBounded,  // an upper bound is enough
  kKnown,    // they must be numbers
};

// Errors name the input and both shapes. A size that the request leaves open and the target must know more of is fixed
// to the example's, with a warning; what the request fixes is a note.
Expected<Graph> with_requested_shapes(const Graph& graph, const ShapeRequest& request, SizesWanted sizes_wanted,
                                      Diagnostics& diagnostics);

// Examples of a model as a graph with requested shapes takes them: without the items of a batch beyond its largest.
std::vector<std::optional<TensorView>> fitting_examples(const Graph& graph,
                                                        std::vector<std::optional<TensorView>> examples);

}  // namespace isthmus
