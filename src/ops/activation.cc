// Activation functions.
#include "ops/families.h"

namespace isthmus {

Family activation_family() { return {"activation", {}, {}}; }

}  // namespace isthmus
