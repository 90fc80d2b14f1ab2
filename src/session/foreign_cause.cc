// Out of what canonicalize notes.
#include "session/foreign_cause.h"

#include <algorithm>
#include <string>
#include <variant>

#include "ir/literals.h"

namespace isthmus {

std::string_view foreign_cause(const Diagnostic& entry) {
  return entry.code == "foreign-op" ? std::string_view(entry.cause) : std::string_view();
}

Expected<void> demand_known_calls(const Graph& graph, const Diagnostics& diagnostics) {
  for (const Node& node : graph.nodes()) {
    if (!std::holds_alternative<ForeignAttrs>(node.attrs) || node.outputs.empty()) continue;
    const auto said = std::ranges::find_if(diagnostics.entries(), [&](const Diagnostic& entry) {
      return !foreign_cause(entry).empty() && entry.node == graph[node.outputs[0]].name;
    });
    if (said == diagnostics.entries().end()) continue;
    return within(Expected<void>(bad_input(std::string(foreign_cause(*said)))), node_text(graph, node));
  }
  return {};
}

}  // namespace isthmus
