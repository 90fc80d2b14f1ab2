// Small graphs of one input, one or more for each rewrite for the devices behind TOSA.
#pragma once

#include <vector>

#include "support/form_case.h"

namespace isthmus::test {

std::vector<Case> ethos_u_cases();

}  // namespace isthmus::test
