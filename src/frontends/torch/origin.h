// Where in the user's model a node was written.
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"

namespace isthmus {

// A line of the user's program, as the machine that exported it knew it.
struct SourceLine {
  std::string path;  // "/home/me/src/networks.py"; may be empty
  std::string number;

  // "networks.py:251"
  std::string text() const;
};

// The last stack frame outside of PyTorch.
SourceLine source_line_of(const std::map<std::string, std::string>& metadata);

// From a node's metadata: the last stack frame outside of PyTorch, the called function, the path of the module.
Origin origin_of(const std::map<std::string, std::string>& metadata);

}  // namespace isthmus
