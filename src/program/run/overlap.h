// What may lie in the same memory: nothing that a delegate writes, and no tensor that is still to be read.
#pragma once

#include <cstdint>
#include <span>

#include "base/expected.h"
#include "program/run/delegate.h"
#include "program/run/state.h"

namespace isthmus::run {

// That a delegate shares what it writes with none of its other arguments.
Expected<void> check_arguments(std::span<const Slot> slots, std::span<const pte::ValueIndex> args,
                               std::span<const ArgumentUse> uses);

// That no instruction writes over a tensor that is read afterwards. Memory is shared on purpose where a call writes
// just where it reads: a view, or a change in place. Of plans that jump, move or free nothing is said.
Expected<void> check_live_tensors(const Method::State& state);

}  // namespace isthmus::run
