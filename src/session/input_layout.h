// --input-layout: in which order the axes of the program's inputs lie in memory.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "ir/graph.h"
#include "targets/layout.h"

namespace isthmus {

// Of each input of the graph. A word is a layout, for all inputs with four axes, or NAME=LAYOUT for one of them; the
// last that says something about an input counts.
Expected<std::vector<Order>> input_orders(const Graph& graph, const std::vector<std::string>& words);

}  // namespace isthmus
