// Kind, message and places.
#include "report/error.h"

#include "report/json_parts.h"

namespace isthmus {

std::string error_json(const Error& error, std::string_view kind) { return dump({{"error", error_row(error, kind)}}); }

}  // namespace isthmus
