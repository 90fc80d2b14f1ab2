// Runs delegates' graphs in the local library, for tests.
#pragma once

#include <vector>

#include "base/expected.h"
#include "formats/executorch/xnn_blob.h"
#include "interpret/tensor.h"

namespace isthmus::test {

// Outputs in the order of their ids. The graph's constants are inside it.
Expected<std::vector<Tensor>> run_delegate(const xnn::Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace isthmus::test
