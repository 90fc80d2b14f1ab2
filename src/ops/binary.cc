// Arithmetic on two tensors that broadcast.
#include "ops/families.h"

namespace isthmus {

Family binary_family() { return {"binary", {}, {}}; }

}  // namespace isthmus
