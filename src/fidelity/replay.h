// The part of a model between values that a program has and one that it makes of them, computed from the program's own
// numbers: what is lost in front of them does not count.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "fidelity/match.h"
#include "interpret/interpreter.h"

namespace isthmus::fidelity {

// Values of a program, each with what it holds.
using Held = std::map<std::uint32_t, Match>;

// For one value of the program.
struct Region {
  std::map<ValueId, std::uint32_t> given;  // the program's value that holds each
  std::vector<std::uint32_t> nodes;        // of the model, in order; empty where the value is given
  ValueId wanted;
};

// Nothing where the model takes far more steps than there ever are between two values.
std::optional<Region> region_of(const Graph& model, const Held& front, ValueId wanted);

// The model's value from the program's numbers. What the region needs besides, the model's own run supplies. Nothing
// where a value of the front cannot be seen.
Expected<std::optional<Tensor>> replay(const Graph& model, const Region& region, const Held& front,
                                       const RunValues& run, const SymbolValues& symbols);

// The program's numbers in the place of the model's; nothing where there are none.
std::optional<Tensor> held_tensor(std::uint32_t value, const Match& match, const RunValues& run);

}  // namespace isthmus::fidelity
