// File -> archive -> graph.
#include "cli/open_model.h"

#include "base/bytes.h"

namespace isthmus {

Expected<OpenModel> open_model(const std::string& path, Diagnostics& diagnostics) {
  const Blob bytes = TRY(map_file(path));
  OpenModel result{TRY(within(pt2::read_archive(bytes), path)), {}};
  result.model = TRY(within(load(result.archive, diagnostics), path));
  return result;
}

}  // namespace isthmus
