// Which node of the model each instruction of a program runs, for the profiler of ExecuTorch.
#pragma once

#include <string>

#include "session/session.h"

namespace isthmus {

// JSON: by instruction the kernel or the delegate, and the nodes behind it with their debug handles, source lines and
// modules; of delegates whose graph is known also by operator. The same in the two maps that an ETRecord has. After
// `compile`.
std::string debug_map(const Session& session);

}  // namespace isthmus
