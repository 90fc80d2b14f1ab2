// Reference kernels: index.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> index_kernels() { return {}; }

}  // namespace isthmus
