// Normalization.
#include "ops/families.h"

namespace isthmus {

Family norm_family() { return {"norm", {}, {}}; }

}  // namespace isthmus
