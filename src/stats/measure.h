// One pass over the numbers of a tensor: extremes and sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stats/statistics.h"

namespace isthmus {

Moments measure(std::span<const float> numbers);

// Numbers of [outer, channels, inner], by channel and over all. The sums of a channel are added up in the order of the
// outer index.
struct ChannelMeasure {
  Moments moments;
  ChannelStatistics channels;
};
ChannelMeasure measure_channels(std::span<const float> numbers, std::size_t outer, std::size_t channels,
                                std::size_t inner);

}  // namespace isthmus
