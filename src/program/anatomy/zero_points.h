// What the operators of a TOSA graph take for the zero points of its values: the graph itself names no parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/tosa/tosa.h"

namespace isthmus::anatomy {

// By value: of those of 8 bits, as their makers say, or else their readers.
std::vector<std::optional<std::int32_t>> tosa_zero_points(const tosa::Graph& graph);

}  // namespace isthmus::anatomy
