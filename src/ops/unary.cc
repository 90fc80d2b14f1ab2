// Functions of one number.
#include "ops/families.h"

namespace isthmus {

Family unary_family() { return {"unary", {}, {}}; }

}  // namespace isthmus
