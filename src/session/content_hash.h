// What a file or a folder holds, as one hash.
#pragma once

#include <string>

#include "base/expected.h"

namespace isthmus {

// Of a folder: of its files' names and hashes, in the order of names, with those of the folders below. Reads all of it.
Expected<std::string> content_hash(const std::string& path);

// Of a model, with the files beside it that hold its tensors.
Expected<std::string> model_hash(const std::string& path);

}  // namespace isthmus
