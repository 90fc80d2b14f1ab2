// Convolutions.
#include "ops/families.h"

namespace isthmus {

Family conv_family() { return {"conv", {}, {}}; }

}  // namespace isthmus
