// The kernels of ops that run along one axis, listed beside the reductions.
#pragma once

#include "interpret/kernel.h"

namespace isthmus {

Expected<Tensor> softmax(const KernelContext& context);
Expected<Tensor> log_softmax(const KernelContext& context);
Expected<Tensor> cumsum(const KernelContext& context);
Expected<Tensor> cumprod(const KernelContext& context);
Expected<Tensor> sort(const KernelContext& context);
Expected<Tensor> argsort(const KernelContext& context);

}  // namespace isthmus
