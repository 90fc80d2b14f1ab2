// Merging of statistics.
#include "stats/statistics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace isthmus {

double Moments::variance() const {
  if (count == 0) return 0;
  return std::max(0.0, sum_of_squares / static_cast<double>(count) - mean() * mean());
}

void Moments::merge(const Moments& other) {
  count += other.count;
  nans += other.nans;
  infinities += other.infinities;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  sum += other.sum;
  sum_of_squares += other.sum_of_squares;
}

void ChannelStatistics::merge(const ChannelStatistics& other) {
  if (min.empty()) {
    *this = other;
    return;
  }
  CHECK(min.size() == other.min.size(), "channels of two numbers");
  count += other.count;
  for (std::size_t i = 0; i < min.size(); ++i) {
    min[i] = std::min(min[i], other.min[i]);
    max[i] = std::max(max[i], other.max[i]);
    sum[i] += other.sum[i];
  }
}

void ValueStatistics::merge(const ValueStatistics& other) {
  moments.merge(other.moments);
  histogram.merge(other.histogram);
  for (const auto& [axis, statistics] : other.channels) channels[axis].merge(statistics);
  samples += other.samples;
  sum_of_min += other.sum_of_min;
  sum_of_max += other.sum_of_max;
}

Expected<void> Statistics::merge(const Statistics& other) {
  if (key != other.key) {
    return bad_input(
        fmt::format("statistics of two models, or of two versions of one: keys {:016x} and {:016x}", key, other.key));
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
  samples += other.samples;
  is_reproducible = is_reproducible && other.is_reproducible;
  for (const auto& [name, theirs] : other.values) values[name].merge(theirs);
  return {};
}

}  // namespace isthmus
