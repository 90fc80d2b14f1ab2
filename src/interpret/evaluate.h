// The parts of interpreting a graph that do not depend on the kernels.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "interpret/interpreter.h"

namespace isthmus {

// A node with every symbolic number replaced by its value.
struct ConcreteNode {
  Attrs attrs;
  std::vector<std::int64_t> sizes;  // of the result, which fits in memory
};
Expected<ConcreteNode> concrete(const Graph& graph, const Node& node, const SymbolValues& symbols);

using Evaluate = std::function<Expected<Tensor>(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                                                const SymbolValues& symbols)>;

// As `interpret`, by kernels of the caller's.
Expected<std::vector<std::optional<Tensor>>> interpret_by(const Evaluate& evaluate, const Graph& graph,
                                                          std::span<const Tensor> inputs, const Observer& observer,
                                                          StateValues* states);

}  // namespace isthmus
