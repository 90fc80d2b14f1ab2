// The one file that knows them, so that a new commit compiles nothing else.
#include "base/version.h"

#include "base/commit.h"

namespace isthmus {

std::string_view version() { return ISTHMUS_VERSION; }
std::string_view commit() { return ISTHMUS_COMMIT; }
std::string_view xnnpack_version() { return ISTHMUS_XNNPACK_VERSION; }

}  // namespace isthmus
