// Which values of 8 bits cost the outputs so much that 16 bits pay.
#pragma once

#include <cstdint>
#include <vector>

#include "quantize/config/ranges.h"
#include "quantize/plan/plan.h"
#include "quantize/widths/width_costs.h"
#include "targets/target.h"

namespace isthmus {

// Values that share parameters and so one width, and nodes, of a plan that might be wider.
struct WidthChoices {
  std::vector<std::uint32_t> set_of;  // by value: one number for all values of a set, that of one of them
  std::vector<bool> is_wide;          // by value
  std::vector<bool> can_be_wide;      // by value: nothing forbids it, at a price
  std::vector<bool> reads_wide;       // by node: its inputs have as many bits as they like
  std::vector<bool> can_read_wide;    // by node
};

struct Widened {
  std::vector<bool> values;  // by value: shall have 16 bits
  std::vector<bool> nodes;   // by node: shall read 16 bits although that takes longer
};

// Values are widened one set after the other, and nodes that multiply read 16 bits, wherever the outputs gain most for
// the cost, as long as all of it together costs no more than this share of what the model costs, and its values need
// next to no more memory at any time. Gains are those of a NoiseModel. Needs statistics.
Expected<Widened> widen(const Graph& graph, const std::vector<Precision>& precision, const WidthChoices& choices,
                        double share, Ranges& ranges, WidthCosts& costs);

// What the same NoiseModel expects of the worst output, in dB.
Expected<double> expected_sqnr(const Graph& graph, const std::vector<Precision>& precision, const WidthChoices& choices,
                               Ranges& ranges, WidthCosts& costs);

}  // namespace isthmus
