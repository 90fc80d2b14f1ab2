// Pins that keep two groups apart.
#pragma once

#include <optional>
#include <string>

#include "quantize/config/pins.h"
#include "stats/range.h"

namespace isthmus {

// Two pins that differ, or one that cannot hold what others need.
struct PinClash {
  ValueId pin;
  std::optional<ValueId> other;
  Range wanted;
};

// One side of a tie: its pin, if it has one, and the range of all its numbers.
struct PinSide {
  std::optional<ValueId> pin;
  Range range;
};

// Why two groups cannot have one set of parameters, as far as pins are concerned; nothing where they can.
std::optional<PinClash> pin_clash(const Pins& pins, const PinSide& a, const PinSide& b);

// A sentence.
std::string described(const PinClash& clash, const Graph& graph, const Pins& pins);

}  // namespace isthmus
