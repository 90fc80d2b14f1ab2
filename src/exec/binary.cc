// Reference kernels: binary.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> binary_kernels() { return {}; }

}  // namespace isthmus
