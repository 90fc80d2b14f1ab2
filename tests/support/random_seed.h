// What names a random graph.
#pragma once

#include <cstddef>
#include <limits>

namespace isthmus::test {

// A number, and after how many nodes the graph stops to grow: the smaller graph is the start of the larger one, so that
// a seed whose graph breaks a law is shrunk by this number.
struct RandomSeed {
  unsigned number = 0;
  std::size_t max_nodes = std::numeric_limits<std::size_t>::max();

  RandomSeed(unsigned of) : number(of) {}  // NOLINT: most seeds are just numbers
  RandomSeed(unsigned of, std::size_t most) : number(of), max_nodes(most) {}
  operator unsigned() const { return number; }  // NOLINT
};

}  // namespace isthmus::test
