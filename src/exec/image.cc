// Reference kernels: image.
#include "exec/kernel.h"

namespace isthmus {

std::span<const KernelDef> image_kernels() { return {}; }

}  // namespace isthmus
