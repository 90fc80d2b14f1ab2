// Options that contradict each other or the target.
#pragma once

#include <optional>
#include <string>

#include "cli/session_options.h"

namespace isthmus {

// The first contradiction, for people; nothing where there is none.
std::optional<std::string> contradiction_of(const SessionFlags& flags);

}  // namespace isthmus
