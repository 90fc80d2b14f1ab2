// The local XNNPACK library: started once, its objects owned, its answers as words.
#pragma once

#include <xnnpack.h>

#include <memory>
#include <string_view>

#include "base/expected.h"

namespace isthmus::xnnpack {

// Every other function of this folder that needs the library calls it; later calls cost nothing.
Expected<void> initialize();

std::string_view words(xnn_status status);

struct DeleteSubgraph {
  void operator()(xnn_subgraph_t subgraph) const { xnn_delete_subgraph(subgraph); }
};
struct DeleteRuntime {
  void operator()(xnn_runtime_t runtime) const { xnn_delete_runtime(runtime); }
};
using SubgraphHandle = std::unique_ptr<xnn_subgraph, DeleteSubgraph>;
using RuntimeHandle = std::unique_ptr<xnn_runtime, DeleteRuntime>;

}  // namespace isthmus::xnnpack
