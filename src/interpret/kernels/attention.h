// The kernel of attention, listed beside normalization.
#pragma once

#include "interpret/kernel.h"

namespace isthmus {

Expected<Tensor> attention(const KernelContext& context);

}  // namespace isthmus
