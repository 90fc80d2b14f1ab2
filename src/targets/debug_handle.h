// The numbers by which profilers of ExecuTorch know the nodes of a program.
#pragma once

#include <cstdint>

#include "ir/ids.h"

namespace isthmus {

// Of a node of the graph that was lowered; one number in the whole program. 0 stands for none.
inline std::uint32_t debug_handle(NodeId id) { return id.index + 1; }
inline NodeId node_with_handle(std::uint32_t handle) { return {handle - 1}; }

}  // namespace isthmus
