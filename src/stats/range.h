// From statistics to the range that a quantization should cover.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stats/statistics.h"

namespace isthmus {

// How ranges come from statistics: a row of the table in range.cc.
struct EstimatorDef;
using Estimator = const EstimatorDef*;

std::string_view name_of(Estimator estimator);
// Null where there is none of this name.
Estimator find_estimator(std::string_view name);
std::vector<Estimator> estimators();
// Everything that was seen.
Estimator minmax_estimator();
Estimator default_estimator();

struct Range {
  double min = 0;
  double max = 0;
  double width() const { return max - min; }
  bool operator==(const Range&) const = default;
};
inline Range hull_of(Range a, Range b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

struct RangeOptions {
  Estimator estimator = default_estimator();
  double percentile = 0.9999;  // of the numbers lie inside; half of the others on each side
  int levels = 256;            // of the quantization, for those that simulate it
};

// How far the numbers of a sample that was not seen may lie outside of all that were. Extremes of samples have tails
// that fall off exponentially: the greatest of n of them is ln(n) times the scale of that tail above their mean, and
// the next one is above the greatest once in n + 1 times, by that scale on average. 0 where one sample says nothing.
struct Excess {
  double below = 0;
  double above = 0;
};
Excess excess_of(const ValueStatistics& statistics);

// Always contains 0; [0, 0] where only zeros were seen. Only "mse" reaches beyond what was seen: a little where samples
// were few and a fresh one would lose more by clipping than all lose by rounding, and by one bit and more where there
// are enough levels that rounding costs nothing.
// Ends have few significant bits, fewer than float kernels of two CPUs agree in.
Range range_of(const ValueStatistics& statistics, const RangeOptions& options = {});
// One range for several values, each of which weighs as much as any other however many numbers it has.
Range shared_range_of(std::span<const ValueStatistics* const> parts, const RangeOptions& options = {});

}  // namespace isthmus
