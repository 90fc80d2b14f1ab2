// What the widths of values cost a device, node by node.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "quantize/plan/precision.h"
#include "quantize/widths/memory_needed.h"
#include "targets/target.h"

namespace isthmus {

class WidthCosts {
 public:
  WidthCosts(const Graph& graph, const IntegerRules& rules, const std::vector<Precision>& precision);

  // Whether the device says what nodes cost.
  bool is_known() const { return rules_.cost != nullptr; }
  // Of a node whose data and whose result have these widths.
  const NodeCost& of(std::uint32_t node, bool reads_wide, bool makes_wide);
  // What the node costs with these widths of all values.
  const NodeCost& of(std::uint32_t node, const std::vector<bool>& is_wide);

  // Bytes of a value, as long as it is in memory: what a clamp alone reads may be part of one step with it.
  void add_value(MemoryNeeded& memory, std::uint32_t value, double bytes) const;

  // Of all nodes, and the most bytes at one time.
  struct Total {
    double cycles = 0;
    double bytes = 0;
  };
  Total of_all(const std::vector<bool>& is_wide);

 private:
  const Graph& graph_;
  const IntegerRules& rules_;
  const std::vector<Precision>& precision_;
  std::vector<bool> is_stored_;                                // by value
  std::vector<std::array<std::optional<NodeCost>, 4>> known_;  // by node and widths
};

}  // namespace isthmus
