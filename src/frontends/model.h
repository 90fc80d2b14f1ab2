// What every frontend makes of a model file.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor.h"
#include "ir/graph.h"

namespace isthmus {

struct Model {
  Graph graph;
  std::vector<std::optional<TensorView>> examples;  // one per graph input, where the file has one
};

}  // namespace isthmus
