// The kernel of sampling at given places, and what it shares with resizing.
#pragma once

#include <array>

#include "interpret/kernel.h"

namespace isthmus {

// The weights of the four neighbours of a place that lies `share` of the way from the second to the third.
std::array<double, 4> cubic_weights(double share);

Expected<Tensor> grid_sample(const KernelContext& context);

}  // namespace isthmus
