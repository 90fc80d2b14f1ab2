// Writing to a view, said without memory: what its base becomes.
#pragma once

#include "base/expected.h"
#include "ops/emitter.h"

namespace isthmus {

// `view` was derived from `base` by ops that only move numbers. The result is `base` with the elements that `view`
// shows replaced by those of `written`. Fails where two elements of the view are one of the base.
Expected<ValueId> write_through(Emitter& emitter, ValueId base, ValueId view, ValueId written);

}  // namespace isthmus
