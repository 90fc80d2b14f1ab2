// What a model becomes before and after its samples are known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpret/tensor.h"
#include "ir/graph.h"

namespace isthmus::test {

// `check` sees no samples, `compile` does: both give the same number of delegates and the same ops on the host, or the
// same refusal, and what they agree on becomes a program. The empty string where that holds. With `in_float` the model
// is not quantized.
std::string broken_agreement(const Graph& model, const std::vector<Tensor>& sample, std::string_view target,
                             bool in_float = false);

}  // namespace isthmus::test
