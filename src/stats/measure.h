// One pass over the numbers of a tensor: extremes and sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace isthmus {

// Over all finite elements. Sums are rounded, but always in the same way: one tensor gives the same bits everywhere.
struct TensorMoments {
  std::uint64_t count = 0;
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  double sum = 0;
  double sum_of_squares = 0;

  bool operator==(const TensorMoments&) const = default;
};

// Along one axis.
struct TensorChannels {
  std::uint64_t count = 0;  // of elements of each channel
  std::vector<float> min, max;
  std::vector<double> sum;

  bool operator==(const TensorChannels&) const = default;
};

TensorMoments measure(std::span<const float> numbers);

// Numbers of [outer, channels, inner], by channel and over all. The sums of a channel are added up in the order of the
// outer index.
struct ChannelMeasure {
  TensorMoments moments;
  TensorChannels channels;
};
ChannelMeasure measure_channels(std::span<const float> numbers, std::size_t outer, std::size_t channels,
                                std::size_t inner);

}  // namespace isthmus
