// Reference kernels: product.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> product_kernels() { return {}; }

}  // namespace isthmus
