// Recurrent layers, unrolled.
#include "ops/families.h"

namespace isthmus {

Family recurrent_family() { return {"recurrent", {}, {}}; }

}  // namespace isthmus
