// The list of targets.
#include "targets/registry.h"

#include <algorithm>

#include "targets/ethos_u/desc.h"
#include "targets/xnnpack/desc.h"
#include "targets/xnnpack/tap.h"

namespace isthmus {

std::span<const TargetDesc* const> all_targets() {
  static const auto kTargets = [] {
    std::vector<const TargetDesc*> all{&xnnpack::desc()};
    for (const TargetDesc& desc : ethos_u::descs()) all.push_back(&desc);
    std::ranges::sort(all, {}, &TargetDesc::name);
    return all;
  }();
  return kTargets;
}

const TargetDesc* find_target(std::string_view name) {
  const auto found = std::ranges::find(all_targets(), name, &TargetDesc::name);
  return found == all_targets().end() ? nullptr : *found;
}

const TargetDesc& local_float_target() { return xnnpack::desc(); }

Expected<xnnpack::TappedRuntime> build_float_segment(const Graph& graph, const Segment& segment) {
  return xnnpack::tapped(graph, segment);
}

std::span<const FinishingStep* const> all_finishing_steps() {
  static const auto kSteps = [] {
    std::vector<const FinishingStep*> all;
    for (const TargetDesc* target : all_targets()) {
      const bool is_new = target->finish != nullptr && std::ranges::find(all, target->finish) == all.end();
      if (is_new) all.push_back(target->finish);
    }
    return all;
  }();
  return kSteps;
}

}  // namespace isthmus
