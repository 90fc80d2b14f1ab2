// Integers that a model computes from the sizes of its inputs, as far as they are known before it runs.
#pragma once

#include <optional>
#include <vector>

#include "ir/attrs.h"
#include "ir/graph.h"

namespace isthmus {

// The elements of a value of integers or bools in row-major order: of a constant, or computed from sizes as exporters
// write out the arithmetic of shapes. Nothing for other values and for long lists.
std::optional<Dims> known_sizes(Graph& graph, ValueId value);
// The same for numbers of any kind, as far as they do not depend on symbols.
std::optional<std::vector<double>> known_numbers(Graph& graph, ValueId value);

}  // namespace isthmus
