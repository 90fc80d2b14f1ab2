// The list of targets.
#include <algorithm>

#include "backends/backend.h"
#include "backends/xnnpack/desc.h"

namespace isthmus {

std::span<const BackendDesc* const> backends() {
  static const BackendDesc* const kBackends[] = {&xnnpack::desc()};
  return kBackends;
}

const BackendDesc* find_backend(std::string_view name) {
  const auto found = std::ranges::find(backends(), name, &BackendDesc::name);
  return found == backends().end() ? nullptr : *found;
}

}  // namespace isthmus
