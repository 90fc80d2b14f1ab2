// Scales and zero points from ranges.
#pragma once

#include <vector>

#include "quantize/config/pins.h"
#include "quantize/config/ranges.h"
#include "quantize/plan/group.h"

namespace isthmus {

// Affine parameters that cover a range, zero exactly among the quantized values; of 16 bits symmetric. Scales are never
// denormal.
Quant parameters_of(Range range, DType storage);

// Gives a group its range and its parameters: those of its pin, or those that its members' numbers need. False where
// nothing is known of these; then the parameters are placeholders.
Expected<bool> choose_parameters(const Graph& graph, const Pins& pins, const std::vector<bool>& is_fused,
                                 Ranges& ranges, Group& group);

}  // namespace isthmus
