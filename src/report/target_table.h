// The targets, and what each of them can do.
#pragma once

#include <string>

#include "targets/target.h"

namespace isthmus {

std::string targets_text();
std::string targets_json();

// Which ops run on the target as they are, what others become first, and what its operators demand.
std::string target_text(const TargetDesc& target);
std::string target_json(const TargetDesc& target);

}  // namespace isthmus
