// What check, compile and explain say alike of a model on its target.
#pragma once

#include "report/compile.h"
#include "report/json_parts.h"

namespace isthmus {

Json place_json(const CompileSummary& summary);

}  // namespace isthmus
