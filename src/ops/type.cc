// Element types, constants made in the graph, quantize and dequantize.
#include "ops/families.h"

namespace isthmus {

Family type_family() { return {"type", {}, {}}; }

}  // namespace isthmus
