// The shapes of every value of a delegate's graph, from those of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/xnn_blob.h"

namespace isthmus::xnnpack {

using Dims = std::vector<std::size_t>;

// The library checks shapes with assertions, or not at all; so this is asked before every call of it.
// On entry `shapes` has those of inputs and constants by value; on return those of all values. Fails where shapes do
// not fit each other, where a size is 0, or where values and what kernels need besides take more than `max_bytes`.
// Gives the bytes that they take.
Expected<std::uint64_t> infer_shapes(const xnn::Graph& graph, std::vector<Dims>& shapes, std::uint64_t max_bytes);

// The shapes as the graph declares them.
std::vector<Dims> declared_shapes(const xnn::Graph& graph);

std::string text_of(const Dims& dims);

}  // namespace isthmus::xnnpack
