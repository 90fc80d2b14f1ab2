// Ops that pick or place elements by index.
#include "ops/families.h"

namespace isthmus {

Family index_family() { return {"index", {}, {}}; }

}  // namespace isthmus
