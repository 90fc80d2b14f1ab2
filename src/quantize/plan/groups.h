// The groups that are left when some ties between values are cut.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quantize/config/ranges.h"
#include "quantize/plan/group.h"
#include "quantize/plan/ties.h"

namespace isthmus {

// Bits that quantized values have besides the first 8.
inline double spare_bits(DType storage) { return storage == DType::kI16 ? 8 : 0; }
// A join that costs one of its inputs this many bits takes 16 bits, or is worth a warning
// where there are none.
inline constexpr double kJoinBits = 3;
// What a reader may lose by sharing before a rescale is put in.
inline double bits_to_lose(const QuantConfig& config, DType storage) { return config.cut_bits + spare_bits(storage); }

struct Grouping {
  std::vector<std::optional<std::uint32_t>> group_of;  // by value, of `groups`
  std::vector<Group> groups;                           // members, own ranges and ties; no parameters yet
  std::vector<Cut> cuts;
};

// Joins the two sides of ties, those whose rescale would be the dearest first, wherever no reader that stands outside
// of the group would lose too much; a tie that cannot be kept is cut. No cut can be taken back alone: a reader would
// lose too much. The order of ties depends on bytes, ranges and names, never on the order of nodes or inputs.
Expected<Grouping> group_values(const GroupingInput& input, Ranges& ranges);

}  // namespace isthmus
