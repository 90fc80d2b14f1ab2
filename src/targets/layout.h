// In which order the axes of each value lie in a device's memory: chosen once for a whole segment.
//
// The graph's shapes stay in PyTorch's logical order; this is a side table. A permute costs nothing by itself: it only
// renames axes. A transpose is needed where a node reads a value in another order than the one it was made in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/axis_order.h"
#include "ir/graph.h"

namespace isthmus {

enum class OrderRule : std::uint8_t {
  kSame,       // any order, the same for every ordered input and the result
  kInnermost,  // the same, but one axis lies innermost
  kFixed,      // one order for the first input and the result
  kRowMajor,   // row-major, whatever their ranks
  kPermute,    // the result's axes are the input's under other names
  kReshape,    // the numbers keep their order in memory
  kMatmul,     // row-major; the two inner axes of the second input either way round
};

// What a node asks of the order of its values.
struct OrderDemand {
  OrderRule rule = OrderRule::kSame;
  std::size_t ordered_inputs = 1;  // number of leading inputs; others (weights) are stored as the device wants them
  std::int64_t axis = 0;           // kInnermost
  Order order = {};                // kFixed
};

// A value that is read in another order than the one it was made in.
struct Conversion {
  ValueId value;
  Order from, to;
  std::uint64_t bytes = 0;
  bool moves_data = true;  // false where only axes of size one change places
};

struct Layout {
  std::vector<Order> orders;              // in which each value is made, by ValueId; empty outside of the segment
  std::vector<std::vector<Order>> reads;  // in which each node reads its ordered inputs, by position in the segment
  std::vector<Conversion> conversions;    // each once, however many readers it has

  std::size_t transposes() const;
};

// A segment: nodes in execution order, and what others read of it.
struct Segment {
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;           // made elsewhere, constants not among them; each once
  std::vector<ValueId> outputs;          // read elsewhere or returned; each once
  std::vector<Order> input_orders = {};  // in which the inputs lie; empty: row-major, all of them

  Order input_order(const Graph& graph, std::size_t input) const;
};

// Outputs of the segment are row-major, constants lie as they are read. Starts from the orders that follow from the
// inputs, then moves whole regions of nodes to another order while that saves bytes: a local minimum, and the
// same one for equal graphs.
Layout choose_layout(const Graph& graph, const Segment& segment, std::span<const OrderDemand> demands);

}  // namespace isthmus
