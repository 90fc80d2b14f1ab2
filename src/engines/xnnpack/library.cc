// Starts the library and puts its answers into words.
#include "engines/xnnpack/library.h"

#include <fmt/format.h>

#include "engines/xnnpack/packed_memory.h"

namespace isthmus::xnnpack {

Expected<void> initialize() {
  static const xnn_status status = xnn_initialize(&packed_memory());
  if (status == xnn_status_success) return {};
  return fail(ErrorKind::kEnvironment,
              fmt::format("XNNPACK cannot start: {} (are /proc and /sys mounted?)", words(status)));
}

std::string_view words(xnn_status status) {
  switch (status) {
    case xnn_status_success:
      return "success";
    case xnn_status_uninitialized:
      return "uninitialized";
    case xnn_status_invalid_parameter:
      return "invalid parameter";
    case xnn_status_invalid_state:
      return "invalid state";
    case xnn_status_unsupported_parameter:
      return "unsupported parameter";
    case xnn_status_unsupported_hardware:
      return "unsupported hardware";
    case xnn_status_out_of_memory:
      return "out of memory";
    case xnn_status_reallocation_required:
      return "reallocation required";
    case xnn_status_deprecated:
      return "deprecated";
  }
  return "unknown status";
}

}  // namespace isthmus::xnnpack
