// An error as JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/expected.h"

namespace isthmus {

// {"schema_version": 1, "error": {"kind": "usage", "message": "...", "places": [...]}}
std::string error_json(const Error& error, std::string_view kind);

}  // namespace isthmus
