// What holds for every target.
#include "targets/target.h"

#include <algorithm>

namespace isthmus {

std::optional<Reason> common_refusal(const Graph& graph, const Node& node) {
  const auto has_complex = [&](ValueId id) { return is_complex(graph.type(id).dtype); };
  const auto* foreign = std::get_if<ForeignAttrs>(&node.attrs);
  if (std::ranges::any_of(node.inputs, has_complex) || std::ranges::any_of(node.outputs, has_complex)) {
    return Reason{ReasonCode::kComplex, foreign != nullptr ? foreign->target : std::string(name_of(node.op))};
  }
  if (foreign != nullptr) return Reason{ReasonCode::kForeignOp, foreign->target};
  return std::nullopt;
}

}  // namespace isthmus
