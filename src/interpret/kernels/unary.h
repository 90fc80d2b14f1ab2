// The part of the unary kernels that are activations.
#pragma once

#include <span>

#include "interpret/kernel.h"

namespace isthmus {

std::span<const KernelDef> activation_kernels();

}  // namespace isthmus
