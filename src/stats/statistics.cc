// Merging of statistics.
#include "stats/statistics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace isthmus {
namespace {

// Which zero of two is the lesser would depend on their order: there is one.
float lesser(float a, float b) { return std::min(a, b) + 0.0F; }
float greater(float a, float b) { return std::max(a, b) + 0.0F; }

}  // namespace

Moments::Moments(const TensorMoments& tensor)
    : count(tensor.count),
      nans(tensor.nans),
      infinities(tensor.infinities),
      min(tensor.min + 0.0F),
      max(tensor.max + 0.0F),
      sum(tensor.sum),
      sum_of_squares(tensor.sum_of_squares) {}

double Moments::variance() const {
  if (count == 0) return 0;
  return std::max(0.0, sum_of_squares.value() / static_cast<double>(count) - mean() * mean());
}

void Moments::merge(const Moments& other) {
  count += other.count;
  nans += other.nans;
  infinities += other.infinities;
  min = lesser(min, other.min);
  max = greater(max, other.max);
  sum.add(other.sum);
  sum_of_squares.add(other.sum_of_squares);
}

void ChannelStatistics::add(const TensorChannels& tensor) {
  if (min.empty()) {
    min.assign(tensor.min.size(), std::numeric_limits<float>::infinity());
    max.assign(tensor.max.size(), -std::numeric_limits<float>::infinity());
    sum.resize(tensor.sum.size());
  }
  CHECK(min.size() == tensor.min.size(), "channels of two numbers");
  count += tensor.count;
  for (std::size_t i = 0; i < min.size(); ++i) {
    min[i] = lesser(min[i], tensor.min[i]);
    max[i] = greater(max[i], tensor.max[i]);
    sum[i].add(tensor.sum[i]);
  }
}

void ChannelStatistics::merge(const ChannelStatistics& other) {
  if (min.empty()) {
    *this = other;
    return;
  }
  CHECK(min.size() == other.min.size(), "channels of two numbers");
  count += other.count;
  for (std::size_t i = 0; i < min.size(); ++i) {
    min[i] = lesser(min[i], other.min[i]);
    max[i] = greater(max[i], other.max[i]);
    sum[i].add(other.sum[i]);
  }
}

void ValueStatistics::add_sample(const TensorMoments& tensor) {
  moments.merge(tensor);
  if (tensor.count == 0) return;
  ++samples;
  sum_of_min.add(static_cast<double>(tensor.min));
  sum_of_max.add(static_cast<double>(tensor.max));
}

void ValueStatistics::merge(const ValueStatistics& other) {
  moments.merge(other.moments);
  histogram.merge(other.histogram);
  for (const auto& [axis, statistics] : other.channels) channels[axis].merge(statistics);
  samples += other.samples;
  sum_of_min.add(other.sum_of_min);
  sum_of_max.add(other.sum_of_max);
}

Expected<void> Statistics::merge(const Statistics& other) {
  if (key != other.key) {
    return bad_input(fmt::format(
        "statistics of different models, or of different versions of one: keys {:016x} and {:016x}", key, other.key));
  }
  for (const auto& [name, theirs] : other.values) {
    const auto ours = values.find(name);
    if (ours == values.end()) continue;
    for (const auto& [axis, channels] : theirs.channels) {
      const auto found = ours->second.channels.find(axis);
      if (found != ours->second.channels.end() && found->second.min.size() != channels.min.size()) {
        return bad_input(fmt::format("%{} has {} channels in one and {} in the other", name, found->second.min.size(),
                                     channels.min.size()));
      }
    }
  }
  if (part.has_value() != other.part.has_value()) {
    return bad_input("one file is a shard and the other is not: join the shards first");
  }
  if (part) TRY(part->join(*other.part));
  samples += other.samples;
  is_reproducible = is_reproducible && other.is_reproducible;
  for (const auto& [name, theirs] : other.values) values[name].merge(theirs);
  return {};
}

}  // namespace isthmus
