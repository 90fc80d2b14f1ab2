// Biases that make up for all that quantization does to the mean of a channel.
#pragma once

#include <span>
#include <vector>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "quantize/apply/apply.h"
#include "targets/target.h"

namespace isthmus {

// Layer after layer: each is computed in integers from what the corrected layers before it give, and its bias is moved
// by what the means of its channels miss. Memory grows with the number of samples, so they should be few.
Expected<void> correct_biases(const Graph& model, Quantized& quantized, const TargetDesc& target,
                              std::span<const std::vector<Tensor>> samples);

}  // namespace isthmus
