// What calibration knows of each value of a graph: never of groups, so that any grouping can be decided with it.
// Everything merges exactly: samples may be measured in any order, and in any number of parts, and give the same bits.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "shard/manifest.h"
#include "stats/exact_sum.h"
#include "stats/histogram.h"
#include "stats/measure.h"

namespace isthmus {

// Over all finite elements.
struct Moments {
  std::uint64_t count = 0;
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
  float min = std::numeric_limits<float>::infinity();
  float max = -std::numeric_limits<float>::infinity();
  ExactSum sum;
  ExactSum sum_of_squares;

  Moments() = default;
  Moments(const TensorMoments& tensor);  // NOLINT(google-explicit-constructor): the moments of one tensor

  double mean() const { return count == 0 ? 0 : sum.value() / static_cast<double>(count); }
  double variance() const;
  void merge(const Moments& other);
  bool operator==(const Moments&) const = default;
};

// Along one axis.
struct ChannelStatistics {
  std::uint64_t count = 0;  // of finite elements of each channel; those of a channel with others are fewer
  std::vector<float> min, max;
  std::vector<ExactSum> sum;

  ChannelStatistics() = default;
  ChannelStatistics(const TensorChannels& tensor) {
    add(tensor);
  }  // NOLINT(google-explicit-constructor): of one tensor

  void add(const TensorChannels& tensor);
  void merge(const ChannelStatistics& other);
  bool operator==(const ChannelStatistics&) const = default;
};

struct ValueStatistics {
  Moments moments;
  Histogram histogram;
  std::map<std::uint32_t, ChannelStatistics> channels;  // by logical axis, where they are needed
  // Sums of each sample's extremes, for their averages.
  std::uint64_t samples = 0;
  ExactSum sum_of_min;
  ExactSum sum_of_max;

  // All but histogram and channels.
  void add_sample(const TensorMoments& tensor);
  void merge(const ValueStatistics& other);
  bool operator==(const ValueStatistics&) const = default;
};

struct Statistics {
  std::uint64_t key = 0;  // of the graph that they belong to
  std::uint64_t samples = 0;
  std::map<std::string, ValueStatistics> values;  // by name of the value
  bool is_reproducible = false;                   // made by kernels that give the same bits on every CPU
  std::optional<Manifest> part = {};              // where they are not of all samples

  // Fails where they belong to another graph, where a sample is in both, and where only one of them is a part.
  Expected<void> merge(const Statistics& other);
  bool operator==(const Statistics&) const = default;
};

}  // namespace isthmus
