// What surrounds a command: how the process ends where it cannot go on.
#pragma once

namespace isthmus {

// Only for a process that is ours: opens missing standard descriptors, ends with a message where a file that is mapped
// becomes shorter and where an exception is not caught, and removes temporary files where a signal ends it.
void guard_process();

}  // namespace isthmus
