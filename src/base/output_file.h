// Where a command may write.
#pragma once

#include <span>
#include <string>

#include "base/expected.h"

namespace isthmus {

// The file behind a path: symbolic links followed, also one that points to nothing yet.
std::string followed(const std::string& path);

// Fails where `write_file` would for a reason that is known before: the folder is missing, the path is a folder or
// may not be written, or it is one of `inputs`, which are read by the same command. Empty names count for nothing.
Expected<void> demand_writable(const std::string& path, std::span<const std::string> inputs = {});

}  // namespace isthmus
