// How each kind of node is defined in the library: one row a kind.
#pragma once

#include <span>

#include "engines/xnnpack/library.h"
#include "formats/executorch/xnn_blob.h"

namespace isthmus::xnnpack {

// A node whose inputs and outputs are the library's ids.
struct LibraryNode {
  const xnn::Node& node;
  std::span<const std::uint32_t> inputs;
  std::span<const std::uint32_t> outputs;
  float min;
  float max;
};

// Whether XNN_FLAG_YIELD_WORKERS is among the flags that the library takes for such nodes.
bool takes_yield_flag(xnn::NodeKind kind);

xnn_status define_node(xnn_subgraph_t subgraph, const LibraryNode& node);

}  // namespace isthmus::xnnpack
