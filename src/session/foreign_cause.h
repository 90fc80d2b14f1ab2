// Why a call of a known operator stays foreign.
#pragma once

#include <string_view>

#include "base/diag.h"
#include "base/expected.h"
#include "ir/graph.h"

namespace isthmus {

// Empty where the note is of something else, or where Isthmus does not know the operator's name.
std::string_view foreign_cause(const Diagnostic& entry);

// Fails for the first such call of the graph: no sample can pass it. Operators of unknown names are refused where they
// are reached.
Expected<void> demand_known_calls(const Graph& graph, const Diagnostics& diagnostics);

}  // namespace isthmus
