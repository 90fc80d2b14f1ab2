// Follows views back to the memory that they show.
#include "frontends/torch/states.h"

#include "ops/table.h"

namespace isthmus {

std::vector<ValueId> written_in_place(const Graph& graph) {
  std::vector<ValueId> memory;  // by value: whose memory it shows, at the most
  for (std::uint32_t i = 0; i < graph.values().size(); ++i) memory.push_back(ValueId{i});
  std::vector<bool> is_written(graph.values().size(), false);
  for (const Node& node : graph.nodes()) {
    const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
    if (foreign == nullptr || node.inputs.empty()) continue;
    const SpellingMatch match = find_spelling(foreign->target);
    const bool may_be_view = match.spelling != nullptr && match.spelling->aliasing != Aliasing::kFresh;
    const ValueId shown = memory[node.inputs[0].index];
    // In place on a view changes which elements it shows and none of them.
    if (match.is_in_place && !may_be_view) is_written[shown.index] = true;
    if (!match.is_in_place && !may_be_view) continue;
    for (const ValueId output : node.outputs) memory[output.index] = shown;
  }
  std::vector<ValueId> result;
  for (std::uint32_t i = 0; i < is_written.size(); ++i) {
    if (is_written[i] && graph.values()[i].kind != ValueKind::kResult) result.push_back(ValueId{i});
  }
  return result;
}

}  // namespace isthmus
