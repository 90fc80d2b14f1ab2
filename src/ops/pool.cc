// Pools.
#include "ops/families.h"

namespace isthmus {

Family pool_family() { return {"pool", {}, {}}; }

}  // namespace isthmus
