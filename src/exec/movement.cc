// Reference kernels: movement.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> movement_kernels() { return {}; }

}  // namespace isthmus
