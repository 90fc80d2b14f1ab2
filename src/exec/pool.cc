// Reference kernels: pool.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> pool_kernels() { return {}; }

}  // namespace isthmus
