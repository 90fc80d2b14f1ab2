// The list of targets.
#include <algorithm>

#include "backends/backend.h"
#include "backends/ethos_u/desc.h"
#include "backends/xnnpack/desc.h"

namespace isthmus {

std::span<const BackendDesc* const> backends() {
  static const auto kBackends = [] {
    std::vector<const BackendDesc*> all{&xnnpack::desc()};
    for (const BackendDesc& desc : ethos_u::descs()) all.push_back(&desc);
    std::ranges::sort(all, {}, &BackendDesc::name);
    return all;
  }();
  return kBackends;
}

const BackendDesc* find_backend(std::string_view name) {
  const auto found = std::ranges::find(backends(), name, &BackendDesc::name);
  return found == backends().end() ? nullptr : *found;
}

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
