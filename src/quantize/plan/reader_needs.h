// How fine the readers of each value need it to be.
#pragma once

#include <limits>
#include <vector>

#include "quantize/plan/ties.h"

namespace isthmus {

// The width of the range that a reader outside of a group wants one of its values to have.
struct Need {
  double width = std::numeric_limits<double>::infinity();
  ValueId value{};
};
inline Need narrower(Need a, Need b) { return a.width <= b.width ? a : b; }

struct ReaderNeeds {
  std::vector<bool> is_read_outside;  // by value: a node reads it that no tie joins to it, or it is an output
  std::vector<double> finest;         // by value: the width of the narrowest range that loses nothing of it; 0: unknown
};

Expected<ReaderNeeds> reader_needs(const GroupingInput& input, const std::vector<bool>& is_quantized, const Ties& ties,
                                   Ranges& ranges);

// The narrowest need of those who read values of a group through rescales to other groups.
class RescaleNeeds {
 public:
  void add(Need need, std::uint32_t target);
  // Without those that rescale to this group.
  Need besides(std::uint32_t target) const { return target == target_ ? besides_ : narrowest_; }

 private:
  Need narrowest_;
  std::uint32_t target_ = std::numeric_limits<std::uint32_t>::max();  // the group that it is rescaled to
  Need besides_;                                                      // the narrowest of all that go elsewhere
};

}  // namespace isthmus
