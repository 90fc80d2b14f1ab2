// How much memory the values of a plan need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace isthmus {

// The most bytes that values need at one time, where all nodes run as soon as they can: what counts is how far values
// are from the inputs, not the order of nodes.
class MemoryNeeded {
 public:
  explicit MemoryNeeded(const Graph& graph);

  // Bytes of a value, as long as it lives.
  void add(std::uint32_t value, double bytes) { add(1, 0, leaves_, first_[value], last_[value] + 1, bytes); }
  // Bytes while it is made.
  void add_while_made(std::uint32_t value, double bytes) {
    add(1, 0, leaves_, first_[value], first_[value] + 1, bytes);
  }
  double max() const { return max_[1]; }

 private:
  void add(std::size_t place, std::size_t low, std::size_t high, std::size_t begin, std::size_t end, double bytes);

  std::vector<std::size_t> first_, last_;  // by value: the depths at which it lives
  std::size_t leaves_ = 1;
  std::vector<double> max_, added_;  // a binary tree over all depths: the most below, and what all of them have
};

}  // namespace isthmus
