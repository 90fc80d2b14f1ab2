// Other forms of a program's delegates, which users may want beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/expected.h"
#include "session/compile.h"

namespace isthmus {

struct ArtifactKind {
  std::string_view flag;    // that asks for it
  std::string_view ending;  // of its files
  Expected<Blob> (*make)(const Blob& delegate);
};
extern const ArtifactKind kTosaFile;  // the TOSA graph as it is
extern const ArtifactKind kMlirFile;  // as text of MLIR's tosa dialect

// One for each delegate. Fails where delegates hold no TOSA graphs.
Expected<std::vector<Blob>> make_artifacts(const ArtifactKind& kind, const Compiled& compiled, std::string_view target);

}  // namespace isthmus
