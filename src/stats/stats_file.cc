// Statistics as a flatbuffer, and back with every count and index checked.
#include "stats/stats_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "stats/schema/stats_generated.h"

namespace isthmus {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// The limb that all above a number's highest one repeat.
std::uint64_t sign_of(std::uint64_t limb) { return (limb >> 63) != 0 ? ~std::uint64_t{0} : 0; }

flatbuffers::Offset<stats_fb::Sums> write_sums(Builder& builder, std::span<const ExactSum> sums) {
  std::size_t lowest = ExactSum::kLimbs;
  std::size_t end = 0;
  for (const ExactSum& sum : sums) {
    const ExactSum::Limbs& limbs = sum.limbs();
    std::size_t first = 0;
    while (first < limbs.size() && limbs[first] == 0) ++first;
    if (first == limbs.size()) continue;
    std::size_t last = limbs.size() - 1;
    while (last > first && limbs[last] == sign_of(limbs[last - 1])) --last;
    lowest = std::min(lowest, first);
    end = std::max(end, last + 1);
  }
  if (end == 0) lowest = 0;
  std::vector<std::uint64_t> written;
  written.reserve(sums.size() * (end - lowest));
  for (const ExactSum& sum : sums) {
    for (std::size_t i = lowest; i < end; ++i) written.push_back(sum.limbs()[i]);
  }
  return stats_fb::CreateSums(builder, static_cast<std::uint8_t>(lowest), builder.CreateVector(written));
}

flatbuffers::Offset<stats_fb::Half> write_half(Builder& builder, const HalfHistogram& half) {
  if (half.is_empty()) return 0;
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
    const auto sums = write_sums(builder, row.sum);
    channels.push_back(stats_fb::CreateChannels(builder, axis, row.count, builder.CreateVector(row.min),
                                                builder.CreateVector(row.max), sums));
  }
  const Moments& m = value.moments;
  const auto text = builder.CreateString(name);
  const auto negative = write_half(builder, value.histogram.negative);
  const auto positive = write_half(builder, value.histogram.positive);
  const auto rows = builder.CreateVector(channels);
  const auto sum = write_sums(builder, {&m.sum, 1});
  const auto squares = write_sums(builder, {&m.sum_of_squares, 1});
  const auto sum_of_min = write_sums(builder, {&value.sum_of_min, 1});
  const auto sum_of_max = write_sums(builder, {&value.sum_of_max, 1});
  return stats_fb::CreateValue(builder, text, m.count, m.nans, m.infinities, m.min, m.max, value.histogram.zeros,
                               negative, positive, rows, value.samples, sum, squares, sum_of_min, sum_of_max);
}

Expected<std::vector<ExactSum>> read_sums(const stats_fb::Sums* sums, std::size_t count) {
  if (sums == nullptr || sums->limbs() == nullptr) return bad_input("a sum is missing");
  const std::size_t each = sums->limbs()->size() / count;
  if (sums->limbs()->size() != each * count || sums->lowest() + each > ExactSum::kLimbs) {
    return bad_input(fmt::format("{} sums of {} limbs from limb {} on", count, sums->limbs()->size(), sums->lowest()));
  }
  std::vector<ExactSum> result(count);
  if (each == 0) return result;
  const std::uint64_t* limb = sums->limbs()->data();
  for (ExactSum& sum : result) {
    ExactSum::Limbs limbs{};
    std::fill(std::copy_n(limb, each, limbs.begin() + sums->lowest()), limbs.end(), sign_of(limb[each - 1]));
    sum = ExactSum::from(limbs);
    limb += each;
  }
  return result;
}
Expected<ExactSum> read_sum(const stats_fb::Sums* sums) { return TRY(read_sums(sums, 1)).front(); }

Expected<HalfHistogram> read_half(const stats_fb::Half* half) {
  if (half == nullptr) return HalfHistogram();
  if (half->bins() == nullptr || half->counts() == nullptr) return bad_input("a histogram without bins");
  if (half->bins()->size() != half->counts()->size()) return bad_input("a histogram has not one count for each bin");
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
  if (row.min() == nullptr || row.max() == nullptr) return bad_input("channels without numbers");
  if (row.min()->size() != row.max()->size() || row.min()->size() == 0) {
    return bad_input("channels of different numbers");
  }
  ChannelStatistics result;
  result.count = row.count();
  result.min.assign(row.min()->begin(), row.min()->end());
  result.max.assign(row.max()->begin(), row.max()->end());
  result.sum = TRY(read_sums(row.sum(), row.min()->size()));
  return result;
}

Expected<ValueStatistics> read_value(const stats_fb::Value& row) {
  ValueStatistics value;
  Moments& moments = value.moments;
  moments.count = row.count();
  moments.nans = row.nans();
  moments.infinities = row.infinities();
  moments.min = row.min();
  moments.max = row.max();
  moments.sum = TRY(read_sum(row.sum()));
  moments.sum_of_squares = TRY(read_sum(row.sum_of_squares()));
  if (moments.count > 0 && (!std::isfinite(row.min()) || !std::isfinite(row.max()) || row.min() > row.max())) {
    return bad_input(fmt::format("extremes {} and {}", row.min(), row.max()));
  }
  // One by one: GCC does not destroy the first where the second returns from within one list.
  value.histogram.negative = TRY(read_half(row.negative()));
  value.histogram.positive = TRY(read_half(row.positive()));
  value.histogram.zeros = row.zeros();
  value.samples = row.samples();
  value.sum_of_min = TRY(read_sum(row.sum_of_min()));
  value.sum_of_max = TRY(read_sum(row.sum_of_max()));
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
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> part = 0;
  if (statistics.part) {
    const std::vector<std::byte> manifest = write_manifest(*statistics.part);
    part = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(manifest.data()), manifest.size());
  }
  stats_fb::FinishStatisticsBuffer(
      builder, stats_fb::CreateStatistics(builder, kStatsVersion, statistics.key, statistics.samples, rows,
                                          statistics.is_reproducible, part));
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

Expected<Statistics> read_stats(const Blob& file) {
  if (!is_stats_file(file)) return bad_input("not a statistics file of `isthmus calibrate`");
  // The verifier wants the alignment that a mapped file has.
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(file.bytes().data()), file.size());
  if (!stats_fb::VerifyStatisticsBuffer(verifier)) return bad_input("the statistics are damaged");
  const stats_fb::Statistics& root = *stats_fb::GetStatistics(file.bytes().data());
  if (root.version() != kStatsVersion) {
    return bad_input(fmt::format("statistics of version {}, this Isthmus reads version {}: calibrate again",
                                 root.version(), kStatsVersion));
  }
  Statistics statistics{root.key(), root.samples(), {}, root.reproducible()};
  if (root.part() != nullptr) {
    statistics.part = TRY(read_manifest(std::as_bytes(std::span(root.part()->data(), root.part()->size()))));
  }
  for (const stats_fb::Value* row : *root.values()) {
    const std::string name = row->name()->str();
    auto value = TRY(within(read_value(*row), [&] { return "value %" + name; }));
    if (!statistics.values.emplace(name, std::move(value)).second) return bad_input("value %" + name + " stands twice");
  }
  return statistics;
}

}  // namespace isthmus
