// A graph in the JSON format that Google's Model Explorer opens: a collection of one graph.
#pragma once

#include <string>

#include "program/anatomy/anatomy.h"

namespace isthmus {

// Levels are the modules of a model or the delegates of a program. `label` is the name that the tool shows.
std::string to_model_explorer(const anatomy::Graph& graph, const std::string& label);

}  // namespace isthmus
