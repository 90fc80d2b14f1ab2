// What `explain` says about a session, whole or by node.
#pragma once

#include <string>

#include "base/expected.h"
#include "session/session.h"

namespace isthmus {

struct ExplainForm {
  bool is_json = false;
  bool is_verbose = false;
};

// What each node costs the device: after `place` with data, for a target that has an estimate.
Expected<std::string> explain_costs(const Session& session, ExplainForm form);

// After `place`. An empty word asks for an overview. Fails where the word means nothing in the model, with names that
// look like it.
Expected<std::string> explain(const Session& session, const std::string& word, ExplainForm form);

}  // namespace isthmus
