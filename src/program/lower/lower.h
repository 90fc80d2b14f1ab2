// Turns a partitioned graph into a program: delegates, calls of host kernels, values. Memory is laid out by `emit`.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "ir/graph.h"
#include "targets/partitioning.h"
#include "targets/target.h"

namespace isthmus {

// What became of a segment.
struct DelegateSummary {
  std::size_t nodes = 0;         // of the graph
  std::size_t device_nodes = 0;  // in the delegate
  std::string backend;           // the name by which the program calls it
  Blob blob;
  std::vector<Conversion> conversions;
};

// What an instruction of the program runs: nothing of the graph, a segment, or a node on the host.
using MadeBy = std::variant<std::monostate, std::size_t, NodeId>;

struct LoweredProgram {
  pte::Program program;  // every tensor that needs memory has a place that means nothing yet
  std::vector<DelegateSummary> delegates;
  std::vector<MadeBy> made_by;  // by instruction
};

// Fails where a node has to stay on the host and ExecuTorch has no kernel for it; the error says why it has to stay.
// The program's inputs lie in `input_orders`; empty: row-major, all of them.
Expected<LoweredProgram> lower(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target,
                               const std::vector<Order>& input_orders = {});

// The same failure without building anything: what has no place to run is refused whatever is asked of the model.
// Constants need no data.
Expected<void> demand_host_kernels(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target);
// The same for ops that are unknown, which nothing can run, whatever their neighbours are quantized to.
Expected<void> demand_known_ops(const Graph& graph, const Partitioning& partitioning, const TargetDesc& target);

}  // namespace isthmus
