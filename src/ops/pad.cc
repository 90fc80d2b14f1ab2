// Padding.
#include "ops/families.h"

namespace isthmus {

Family pad_family() { return {"pad", {}, {}}; }

}  // namespace isthmus
