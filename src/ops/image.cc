// Resizing and sampling of images.
#include "ops/families.h"

namespace isthmus {

Family image_family() { return {"image", {}, {}}; }

}  // namespace isthmus
