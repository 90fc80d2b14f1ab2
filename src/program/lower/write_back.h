// What a run leaves in states and inputs, for the next one or for the caller.
#pragma once

#include <vector>

#include "formats/executorch/pte.h"

namespace isthmus {

// At the end of a run, `place` holds what `written` holds.
struct WriteBack {
  pte::ValueIndex place = 0;
  pte::ValueIndex written = 0;
};

// Where nothing reads a state from the call on that makes its new value, that call writes straight to it: the value's
// own tensor is gone then. A call that reads the place and writes the value never does so, whatever the call is: a
// delegate may still read what it has overwritten. Returns those that are left to be copied.
std::vector<WriteBack> make_in_place(pte::Plan& plan, const std::vector<WriteBack>& writes);

}  // namespace isthmus
