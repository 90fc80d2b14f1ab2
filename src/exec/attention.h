// The kernel of attention, listed beside normalization.
#pragma once

#include "exec/kernel.h"

namespace isthmus {

Expected<Tensor> attention(const KernelContext& context);

}  // namespace isthmus
