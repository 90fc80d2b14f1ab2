// Where in the user's model a node was written.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace isthmus {

// From a node's metadata: the last stack frame outside of PyTorch, the called function, the path of the module.
Origin origin_of(const std::map<std::string, std::string>& metadata);

}  // namespace isthmus
