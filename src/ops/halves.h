// Numbers that are kept as two parts side by side.
#pragma once

#include "ops/emitter.h"

namespace isthmus {

// The first half of the last axis, plus the second half times `factor`. Of f32; the size of the axis is known and even.
Expected<ValueId> sum_of_halves(Emitter& emitter, ValueId value, double factor);

}  // namespace isthmus
