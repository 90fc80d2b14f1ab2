// From statistics to the range that a quantization should cover.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "stats/statistics.h"

namespace isthmus {

enum class Estimator : std::uint8_t {
  kMinMax,         // everything that was seen
  kPercentile,     // all but the outermost numbers
  kMse,            // the least mean square of rounding and clipping errors
  kMovingAverage,  // the average over samples of each sample's extremes
  kEntropy,        // the distribution after quantization says most about the one before (Kullback-Leibler)
};
std::string_view name_of(Estimator estimator);
std::optional<Estimator> estimator_from_name(std::string_view name);
std::span<const Estimator> estimators();

struct Range {
  double min = 0;
  double max = 0;
  bool operator==(const Range&) const = default;
};

struct RangeOptions {
  Estimator estimator = Estimator::kMse;
  double percentile = 0.9999;  // of the numbers lie inside; half of the others on each side
  int levels = 256;            // of the quantization, for those that simulate it
};

// Always contains 0; [0, 0] where only zeros were seen. Ends have few significant bits, fewer than float kernels of two
// CPUs agree in.
Range range_of(const ValueStatistics& statistics, const RangeOptions& options = {});
// One range for several values, each of which weighs as much as any other however many numbers it has.
Range shared_range_of(std::span<const ValueStatistics* const> parts, const RangeOptions& options = {});

}  // namespace isthmus
