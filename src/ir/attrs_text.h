// The attributes of a node in the words of the text form.
#pragma once

#include <string>

#include "ir/graph.h"

namespace isthmus {

// "stride=[2,2] groups=4": those that differ from their defaults. Of a foreign node its arguments, "tensor" where one
// is an input.
std::string attributes_text(const Graph& graph, const Node& node);

}  // namespace isthmus
