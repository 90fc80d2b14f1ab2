// The part of the unary kernels that are activations.
#pragma once

#include <span>

#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> activation_kernels();

}  // namespace isthmus
