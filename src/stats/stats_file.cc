// Statistics as a flatbuffer, and back with every count and index checked.
#include "stats/stats_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "stats/schema/stats_generated.h"

namespace isthmus {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<stats_fb::Half> write_half(Builder& builder, const HalfHistogram& half) {
  std::vector<std::uint32_t> bins;
  std::vector<std::uint64_t> counts;
  for (std::uint32_t i = 0; i < half.counts().size(); ++i) {
    if (half.counts()[i] == 0) continue;
    bins.push_back(i);
    counts.push_back(half.counts()[i]);
  }
  return stats_fb::CreateHalf(builder, half.exponent(), builder.CreateVector(bins), builder.CreateVector(counts));
}

flatbuffers::Offset<stats_fb::Value> write_value(Builder& builder, const std::string& name,
                                                 const ValueStatistics& value) {
  std::vector<flatbuffers::Offset<stats_fb::Channels>> channels;
  for (const auto& [axis, row] : value.channels) {
    channels.push_back(stats_fb::CreateChannels(builder, axis, row.count, builder.CreateVector(row.min),
                                                builder.CreateVector(row.max), builder.CreateVector(row.sum)));
  }
  const Moments& m = value.moments;
  const auto text = builder.CreateString(name);
  const auto negative = write_half(builder, value.histogram.negative);
  const auto positive = write_half(builder, value.histogram.positive);
  return stats_fb::CreateValue(builder, text, m.count, m.nans, m.infinities, m.min, m.max, m.sum, m.sum_of_squares,
                               value.histogram.zeros, negative, positive, builder.CreateVector(channels), value.samples,
                               value.sum_of_min, value.sum_of_max);
}

Expected<HalfHistogram> read_half(const stats_fb::Half* half) {
  if (half == nullptr || half->bins() == nullptr || half->counts() == nullptr)
    return bad_input("a histogram is missing");
  if (half->bins()->size() != half->counts()->size()) return bad_input("a histogram has not one count for each bin");
  if (half->bins()->size() == 0) return HalfHistogram();
  constexpr int kMaxExponent = std::numeric_limits<float>::max_exponent;
  if (half->exponent() < -kMaxExponent || half->exponent() > kMaxExponent) {
    return bad_input(fmt::format("a histogram reaches to 2^{}", half->exponent()));
  }
  std::vector<std::uint64_t> counts(HalfHistogram::kBins, 0);
  for (flatbuffers::uoffset_t i = 0; i < half->bins()->size(); ++i) {
    const std::uint32_t bin = half->bins()->Get(i);
    if (bin >= counts.size()) return bad_input(fmt::format("bin {} of {}", bin, counts.size()));
    // Far from overflow even where thousands of files are merged.
    if (half->counts()->Get(i) >= std::uint64_t{1} << 52) return bad_input("a count of 2^52 or more");
    counts[bin] = half->counts()->Get(i);
  }
  return HalfHistogram::from(half->exponent(), std::move(counts));
}

Expected<ChannelStatistics> read_channels(const stats_fb::Channels& row) {
  if (row.min() == nullptr || row.max() == nullptr || row.sum() == nullptr)
    return bad_input("channels without numbers");
  if (row.min()->size() != row.max()->size() || row.min()->size() != row.sum()->size() || row.min()->size() == 0) {
    return bad_input("channels of different numbers");
  }
  return ChannelStatistics{row.count(),
                           {row.min()->begin(), row.min()->end()},
                           {row.max()->begin(), row.max()->end()},
                           {row.sum()->begin(), row.sum()->end()}};
}

Expected<ValueStatistics> read_value(const stats_fb::Value& row) {
  ValueStatistics value;
  value.moments = {row.count(), row.nans(), row.infinities(), row.min(), row.max(), row.sum(), row.sum_of_squares()};
  if (value.moments.count > 0 && (!std::isfinite(row.min()) || !std::isfinite(row.max()) || row.min() > row.max() ||
                                  !std::isfinite(row.sum()) || !std::isfinite(row.sum_of_squares()))) {
    return bad_input(fmt::format("extremes {} and {}", row.min(), row.max()));
  }
  if (!std::isfinite(row.sum_of_min()) || !std::isfinite(row.sum_of_max())) return bad_input("min or max is NaN");
  // One by one: GCC does not destroy the first where the second returns from within one list.
  value.histogram.negative = TRY(read_half(row.negative()));
  value.histogram.positive = TRY(read_half(row.positive()));
  value.histogram.zeros = row.zeros();
  value.samples = row.samples();
  value.sum_of_min = row.sum_of_min();
  value.sum_of_max = row.sum_of_max();
  if (row.channels() == nullptr) return value;
  for (const stats_fb::Channels* channels : *row.channels()) {
    if (!value.channels.emplace(channels->axis(), TRY(read_channels(*channels))).second) {
      return bad_input(fmt::format("channels of axis {} twice", channels->axis()));
    }
  }
  return value;
}

}  // namespace

bool is_stats_file(const Blob& file) {
  return file.size() >= 8 && stats_fb::StatisticsBufferHasIdentifier(file.bytes().data());
}

std::vector<std::byte> write_stats(const Statistics& statistics) {
  Builder builder;
  builder.ForceDefaults(false);
  std::vector<flatbuffers::Offset<stats_fb::Value>> values;
  for (const auto& [name, value] : statistics.values) values.push_back(write_value(builder, name, value));
  const auto rows = builder.CreateVector(values);
  stats_fb::FinishStatisticsBuffer(
      builder, stats_fb::CreateStatistics(builder, kStatsVersion, statistics.key, statistics.samples, rows,
                                          statistics.is_reproducible));
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

Expected<Statistics> read_stats(const Blob& file) {
  if (!is_stats_file(file)) return bad_input("no statistics of `isthmus calibrate`");
  // The verifier wants the alignment that a mapped file has.
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.bytes().data()), file.size());
  if (!stats_fb::VerifyStatisticsBuffer(verifier)) return bad_input("the statistics are damaged");
  const stats_fb::Statistics& root = *stats_fb::GetStatistics(file.bytes().data());
  if (root.version() != kStatsVersion) {
    return bad_input(fmt::format("statistics of version {}, this Isthmus reads version {}: calibrate again",
                                 root.version(), kStatsVersion));
  }
  Statistics statistics{root.key(), root.samples(), {}, root.reproducible()};
  for (const stats_fb::Value* row : *root.values()) {
    const std::string name = row->name()->str();
    auto value = TRY(within(read_value(*row), [&] { return "value %" + name; }));
    if (!statistics.values.emplace(name, std::move(value)).second) return bad_input("value %" + name + " stands twice");
  }
  return statistics;
}

}  // namespace isthmus
