// Who reads what.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph.h"

namespace isthmus {

// By value: how often nodes read it, an input that stands twice counts twice, and how often the graph returns it.
std::vector<std::size_t> reader_counts(const Graph& graph);

}  // namespace isthmus
