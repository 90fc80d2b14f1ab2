// Out of what canonicalize notes.
#include "session/foreign_cause.h"

namespace isthmus {

std::string_view foreign_cause(const Diagnostic& entry) {
  constexpr std::string_view kBefore = "stays foreign: ";
  constexpr std::string_view kUnknownName = "no op of the table has this name";
  const std::size_t at = entry.code == "foreign-op" ? entry.text.find(kBefore) : std::string::npos;
  if (at == std::string::npos || entry.text.ends_with(kUnknownName)) return {};
  return std::string_view(entry.text).substr(at + kBefore.size());
}

}  // namespace isthmus
