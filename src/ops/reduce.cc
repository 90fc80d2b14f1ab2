// Reductions.
#include "ops/families.h"

namespace isthmus {

Family reduce_family() { return {"reduce", {}, {}}; }

}  // namespace isthmus
