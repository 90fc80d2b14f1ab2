// Attention.
#include "ops/families.h"

namespace isthmus {

Family attention_family() { return {"attention", {}, {}}; }

}  // namespace isthmus
