// Reference kernels: reduce.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> reduce_kernels() { return {}; }

}  // namespace isthmus
