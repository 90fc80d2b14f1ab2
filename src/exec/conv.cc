// Reference kernels: conv.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> conv_kernels() { return {}; }

}  // namespace isthmus
