// What a session writes into its program about where it comes from.
#pragma once

#include "base/expected.h"
#include "formats/executorch/provenance.h"
#include "session/session.h"

namespace isthmus {

// Reads the files of model and data once more to hash them.
Expected<pte::Provenance> provenance_of(const OpenModel& model, const SessionOptions& options);

}  // namespace isthmus
