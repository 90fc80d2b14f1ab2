// The part of the binary kernels that answers questions.
#pragma once

#include <span>

#include "interpret/kernel.h"

namespace isthmus {

std::span<const KernelDef> comparison_kernels();

}  // namespace isthmus
