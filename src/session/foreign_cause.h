// Why a call of a known operator stays foreign.
#pragma once

#include <string_view>

#include "base/diag.h"

namespace isthmus {

// Empty where the note is of something else, or where Isthmus does not know the operator's name.
std::string_view foreign_cause(const Diagnostic& entry);

}  // namespace isthmus
