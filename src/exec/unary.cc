// Reference kernels: unary.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> unary_kernels() { return {}; }

}  // namespace isthmus
