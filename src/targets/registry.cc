// The list of targets.
#include "targets/registry.h"

#include <algorithm>

#include "targets/ethos_u/desc.h"
#include "targets/xnnpack/desc.h"

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

}  // namespace isthmus
