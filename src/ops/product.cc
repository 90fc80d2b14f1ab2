// Matrix products.
#include "ops/families.h"

namespace isthmus {

Family product_family() { return {"product", {}, {}}; }

}  // namespace isthmus
