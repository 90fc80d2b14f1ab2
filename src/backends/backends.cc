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

}  // namespace isthmus
