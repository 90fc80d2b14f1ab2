// Who asks whom to share parameters: a tie for each data input of a node that shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "quantize/config/pins.h"
#include "quantize/config/ranges.h"
#include "quantize/plan/group.h"
#include "quantize/plan/precision.h"
#include "targets/target.h"

namespace isthmus {

// What grouping starts from.
struct GroupingInput {
  const Graph& graph;
  const TargetDesc& target;
  const std::vector<Precision>& precision;  // by node
  const std::vector<bool>& is_fused;        // by node: this clamp is part of the node before it
  const std::vector<DType>& storage;        // by value
  const Pins& pins;
  const QuantConfig& config;
};

// A tie between two values, and what decides how dear its rescale would be.
struct TieEdge {
  Tie tie;
  ValueId input, result;
  std::uint64_t bytes = 0;
  double ratio = 0;  // log2 of the wider own range over the narrower
  double width = 0;  // of the input's own range
  bool is_fused = false;
  bool computes = false;  // the op makes new numbers and shares all the same: a rescale must not clip what it reads
};

struct Ties {
  std::vector<TieEdge> edges;      // in the order of nodes
  std::vector<std::size_t> order;  // of `edges`: the dearest rescale first, whatever the order of nodes and inputs
  std::vector<Tie> constants;      // ties of constant inputs, which are always kept
  std::vector<bool> is_hidden;     // by value: it stands before a fused clamp or a pin, so its numbers do not count
};

Expected<Ties> ties_of(const GroupingInput& input, Ranges& ranges);

// Whether the op makes new numbers, which the device can only write in the steps of what it reads.
bool shares_what_it_computes(const IntegerRules& rules, Op op);

}  // namespace isthmus
