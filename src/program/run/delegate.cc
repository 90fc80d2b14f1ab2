// The table of backends whose delegates run here.
#include "program/run/delegate.h"

#include <algorithm>

#include "formats/executorch/xnn_blob.h"
#include "formats/tosa/tosa.h"

namespace isthmus::run {

std::span<const DelegateKind> delegate_kinds() {
  static constexpr DelegateKind kKinds[] = {{xnn::kBackendId, load_xnnpack}, {tosa::kBackendId, load_tosa}};
  return kKinds;
}

const DelegateKind* find_delegate_kind(std::string_view backend) {
  const auto found = std::ranges::find(delegate_kinds(), backend, &DelegateKind::backend);
  return found == delegate_kinds().end() ? nullptr : &*found;
}

}  // namespace isthmus::run
