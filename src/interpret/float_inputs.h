// Float samples for a graph whose inputs are quantized.
#pragma once

#include <span>
#include <vector>

#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus {

// The sample as the graph takes it: floats are quantized where the input is; all else stays.
std::vector<Tensor> quantized_inputs(const Graph& graph, std::span<const Tensor> sample);

}  // namespace isthmus
