// Comparisons and logic.
#include "ops/families.h"

namespace isthmus {

Family compare_family() { return {"compare", {}, {}}; }

}  // namespace isthmus
