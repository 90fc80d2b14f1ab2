// Reference kernels: type.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> type_kernels() { return {}; }

}  // namespace isthmus
