// Channels of one range: what a tensor with one scale needs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/expected.h"
#include "ir/graph.h"
#include "stats/statistics.h"

namespace isthmus {

struct Equalized {
  Graph graph;
  Statistics statistics;
  std::size_t streams = 0;                             // how many were scaled
  std::map<std::string, std::vector<double>> factors;  // by name of a value that was scaled: of its channels
};

// A stream is all values that must be scaled alike because what stands between them keeps channels apart and scales
// with its input: sums, relu, pools. Where only convolutions and linear layers write and read a stream, each of its
// channels is multiplied so that all have the range of the widest: the weights of those who write take the factor, the
// weights of those who read take it back. The model computes the same numbers; names stay.
Expected<Equalized> equalize(const Graph& graph, const Statistics& statistics);

}  // namespace isthmus
