// Statistics: exact counts whatever the order, quantiles within a bin, merging, estimators that behave as named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>

#include "stats/histogram.h"
#include "stats/measure.h"
#include "stats/range.h"
#include "stats/statistics.h"
#include "stats/stats_file.h"

namespace isthmus::stats_test {
namespace {

// By what share the ends of ranges may lie farther out for the sake of few bits.
constexpr double kGrid = 0x1p-9;

struct Shape {
  const char* name;
  std::function<float(std::mt19937&)> draw;
};

std::vector<Shape> shapes() {
  return {
      {"normal", [](std::mt19937& random) { return std::normal_distribution<float>(0.3F, 2)(random); }},
      {"uniform", [](std::mt19937& random) { return std::uniform_real_distribution<float>(-3, 5)(random); }},
      {"one-sided", [](std::mt19937& random) { return std::max(0.0F, std::normal_distribution<float>(0, 1)(random)); }},
      {"heavy-tailed", [](std::mt19937& random) { return std::student_t_distribution<float>(2)(random); }},
      {"spiky", [](std::mt19937& random) { return random() % 50 == 0  ? 100.0F
                                                  : random() % 2 == 0 ? 0.5F
                                                                      : 0.0F; }},
      {"tiny", [](std::mt19937& random) { return std::normal_distribution<float>(0, 1e-30F)(random); }},
  };
}

std::vector<float> drawn(const Shape& shape, std::size_t count, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::vector<float> numbers(count);
  std::ranges::generate(numbers, [&] { return shape.draw(random); });
  return numbers;
}

void add(Histogram& histogram, std::span<const float> numbers) {
  const auto [min, max] = std::ranges::minmax(numbers);
  histogram.add(numbers, 1, min, max);
}

// Statistics of numbers that came as samples of this size.
ValueStatistics statistics_of(std::span<const float> numbers, std::size_t sample) {
  ValueStatistics result;
  for (std::size_t i = 0; i < numbers.size(); i += sample) {
    const auto part = numbers.subspan(i, std::min(sample, numbers.size() - i));
    ValueStatistics one;
    one.add_sample(measure(part));
    one.histogram.add(part, 1, one.moments.min, one.moments.max);
    result.merge(one);
  }
  return result;
}

TEST(Histogram, QuantilesAreWithinABinForChunksOfEverySize) {
  for (const Shape& shape : shapes()) {
    std::vector<float> numbers = drawn(shape, 20'000);
    for (const std::size_t chunk : {1u, 7u, 100u, 4096u, 20'000u}) {
      Histogram histogram;
      for (std::size_t i = 0; i < numbers.size(); i += chunk) {
        add(histogram, std::span(numbers).subspan(i, std::min(chunk, numbers.size() - i)));
      }
      EXPECT_EQ(histogram.count(), numbers.size());
      std::vector<float> sorted = numbers;
      std::ranges::sort(sorted);
      for (const double share : {0.0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0}) {
        const auto rank = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5);
        const double exact = static_cast<double>(sorted[rank]);
        const double width = exact < 0 ? histogram.negative.width() : exact > 0 ? histogram.positive.width() : 0;
        EXPECT_LE(std::abs(histogram.quantile(share) - exact), width) << shape.name << " in chunks of " << chunk;
      }
    }
  }
}

TEST(Histogram, SixteenShardsMergeToOnePassInAnyOrder) {
  for (const Shape& shape : shapes()) {
    const std::vector<float> numbers = drawn(shape, 16'000);
    Histogram whole;
    add(whole, numbers);
    std::vector<Histogram> shards(16);
    for (std::size_t i = 0; i < shards.size(); ++i) add(shards[i], std::span(numbers).subspan(i * 1000, 1000));
    std::mt19937 random(3);
    for (int round = 0; round < 4; ++round) {
      std::ranges::shuffle(shards, random);
      Histogram merged;
      for (const Histogram& shard : shards) merged.merge(shard);
      EXPECT_EQ(merged, whole) << shape.name;
    }
  }
}

TEST(Histogram, ExtremesOfFloatFit) {
  Histogram histogram;
  const std::vector<float> numbers{
      std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::min(),  0.0F, -0.0F,
      std::numeric_limits<float>::max(),        std::numeric_limits<float>::lowest()};
  for (const float number : numbers) add(histogram, {&number, 1});
  EXPECT_EQ(histogram.count(), numbers.size());
  EXPECT_EQ(histogram.zeros, 2u);
}

TEST(Measure, AgreesWithPlainSumsForEveryLength) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.5F, 2);
  for (std::size_t count = 1; count < 700; count += count < 40 ? 1 : 37) {
    std::vector<float> numbers(count);
    std::ranges::generate(numbers, [&] { return normal(random); });
    const TensorMoments moments = measure(numbers);
    double sum = 0;
    double squares = 0;
    for (const float number : numbers) {
      sum += static_cast<double>(number);
      squares += static_cast<double>(number) * static_cast<double>(number);
    }
    EXPECT_EQ(moments.count, count);
    EXPECT_EQ(moments.min, std::ranges::min(numbers));
    EXPECT_EQ(moments.max, std::ranges::max(numbers));
    EXPECT_NEAR(moments.sum, sum, 1e-4 * static_cast<double>(count));
    EXPECT_NEAR(moments.sum_of_squares, squares, 1e-5 * squares);
  }
}

TEST(Measure, NansAreCountedAndIgnored) {
  std::vector<float> numbers(100, 1.0F);
  numbers[3] = std::numeric_limits<float>::quiet_NaN();
  numbers[50] = std::numeric_limits<float>::infinity();
  numbers[99] = -std::numeric_limits<float>::infinity();
  const TensorMoments moments = measure(numbers);
  EXPECT_EQ(moments.nans, 1u);
  EXPECT_EQ(moments.infinities, 2u);
  EXPECT_EQ(moments.count, 97u);
  EXPECT_EQ(moments.min, 1.0F);
  EXPECT_EQ(moments.max, 1.0F);
  EXPECT_EQ(moments.sum, 97.0);
  const ChannelMeasure by_channel = measure_channels(numbers, 10, 10, 1);
  EXPECT_EQ(by_channel.moments.nans, 1u);
  EXPECT_EQ(by_channel.channels.min[3], 1.0F);
  EXPECT_EQ(by_channel.channels.sum[3], 9.0);
}

TEST(Measure, ChannelsInAnyPlace) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (const auto& [outer, channels, inner] :
       {std::array<std::size_t, 3>{300, 1, 1}, {1, 300, 1}, {7, 13, 1}, {200, 32, 1}, {2, 5, 9}, {1, 3, 300}}) {
    std::vector<float> numbers(outer * channels * inner);
    std::ranges::generate(numbers, [&] { return normal(random); });
    const ChannelMeasure found = measure_channels(numbers, outer, channels, inner);
    const TensorMoments all = measure(numbers);
    EXPECT_EQ(found.moments.min, all.min);
    EXPECT_EQ(found.moments.max, all.max);
    EXPECT_NEAR(found.moments.sum, all.sum, 1e-3);
    EXPECT_NEAR(found.moments.sum_of_squares, all.sum_of_squares, 1e-4 * all.sum_of_squares);
    EXPECT_EQ(found.channels.count, outer * inner);
    for (std::size_t c = 0; c < channels; ++c) {
      float min = std::numeric_limits<float>::infinity();
      double sum = 0;
      for (std::size_t o = 0; o < outer; ++o) {
        for (std::size_t i = 0; i < inner; ++i) {
          const float number = numbers[(o * channels + c) * inner + i];
          min = std::min(min, number);
          sum += static_cast<double>(number);
        }
      }
      EXPECT_EQ(found.channels.min[c], min);
      EXPECT_NEAR(found.channels.sum[c], sum, 1e-3);
    }
  }
}

// Mostly within +-1, a few numbers far out, and samples that differ.
std::vector<float> skewed() {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.2F, 0.4F);
  std::vector<float> numbers(64'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = normal(random);
  for (std::size_t i = 0; i < numbers.size(); i += 32'000) numbers[i] = 40;
  return numbers;
}

Range estimate(const ValueStatistics& statistics, Estimator estimator) {
  RangeOptions options;
  options.estimator = estimator;
  return range_of(statistics, options);
}

TEST(Estimators, EachEstimatorBehavesAsDocumentedAndDiffers) {
  const std::vector<float> numbers = skewed();
  const ValueStatistics statistics = statistics_of(numbers, 1000);
  const Range minmax = estimate(statistics, find_estimator("minmax"));
  const Range percentile = estimate(statistics, find_estimator("percentile"));
  const Range mse = estimate(statistics, find_estimator("mse"));
  const Range average = estimate(statistics, find_estimator("moving-average"));
  const Range entropy = estimate(statistics, find_estimator("entropy"));
  EXPECT_EQ(minmax.max, 40);
  EXPECT_NEAR(minmax.min, static_cast<double>(statistics.moments.min), kGrid * std::abs(minmax.min));
  // All but one in ten thousand: half of the others on each side.
  EXPECT_LT(percentile.max, 3);
  EXPECT_GT(percentile.max, 1.2);
  // 2 samples of 64 reach to 40, the others to about 1.5.
  EXPECT_NEAR(average.max, (2 * 40 + 62 * 1.5) / 64, 0.4);
  EXPECT_GT(average.min, minmax.min);
  // The best loses less than any other.
  const auto loss = [&](Range range) {
    const double step = (range.max - range.min) / 255;
    double sum = 0;
    for (const float number : numbers) {
      const double x = static_cast<double>(number);
      const double q = std::round(std::clamp(x, range.min, range.max) / step);
      sum += (x - q * step) * (x - q * step);
    }
    return sum;
  };
  for (const Range& other : {minmax, percentile, average, entropy}) EXPECT_LE(loss(mse), loss(other) * 1.02);
  EXPECT_LT(loss(mse), loss(minmax) * 0.99);
  // It clips what is rare, but does not minimize squares.
  EXPECT_LT(entropy.max, 0.9 * minmax.max);
  EXPECT_NE(entropy, mse);
  EXPECT_NE(entropy, minmax);
  EXPECT_NE(mse, percentile);
}

// Ranges leave room for larger numbers of a later sample: much with 16 bits, with 8 a little where numbers are few.
TEST(Estimators, LeastSquaresLeaveRoomForAFreshSample) {
  std::mt19937 random(4);
  std::exponential_distribution<float> tail;
  const auto drawn_samples = [&](std::size_t samples, std::size_t each) {
    std::vector<float> numbers(samples * each);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
    for (std::size_t i = 0; i < samples; ++i) numbers[i * each] = 1 + tail(random);
    return statistics_of(numbers, each);
  };
  RangeOptions narrow;
  RangeOptions wide;
  wide.levels = 65535;
  for (const std::size_t samples : {2, 8, 15}) {
    const ValueStatistics few = drawn_samples(samples, 10);
    const auto seen = static_cast<double>(few.moments.max);
    EXPECT_GE(range_of(few, wide).max, 2 * seen);
    EXPECT_LE(range_of(few, wide).max, 4 * seen * (1 + kGrid));
    EXPECT_GT(range_of(few, narrow).max, seen);
    EXPECT_LT(range_of(few, narrow).max, 2.5 * seen);
    const ValueStatistics* parts[] = {&few, &few};
    EXPECT_GE(shared_range_of(parts, wide).max, 2 * seen);
    EXPECT_GT(shared_range_of(parts, narrow).max, seen);
    // Many numbers lose more by rounding than one of them by clipping.
    const ValueStatistics many = drawn_samples(samples, 100'000);
    EXPECT_LE(range_of(many, narrow).max, static_cast<double>(many.moments.max) * (1 + kGrid));
  }
  // Enough samples speak for themselves, but where room costs nothing there is some.
  const ValueStatistics enough = drawn_samples(32, 10);
  const auto seen = static_cast<double>(enough.moments.max);
  EXPECT_LE(range_of(enough, narrow).max, seen * (1 + kGrid));
  EXPECT_GE(range_of(enough, wide).max, 2 * seen);
  // Samples that are all alike, or one alone, say nothing of others: 8 bits stay with what was seen.
  const ValueStatistics alike = statistics_of(std::vector<float>(80, 1.5F), 10);
  EXPECT_LE(range_of(alike, narrow).max, 1.5);
  EXPECT_EQ(range_of(alike, wide).max, 3.0);
  const ValueStatistics one = drawn_samples(1, 10);
  EXPECT_LE(range_of(one, narrow).max, static_cast<double>(one.moments.max) * (1 + kGrid));
}

TEST(Estimators, RangesHoldZeroAndLittleThatWasNotSeen) {
  for (const Shape& shape : shapes()) {
    const ValueStatistics statistics = statistics_of(drawn(shape, 5000), 500);
    for (const Estimator estimator : estimators()) {
      const Range range = estimate(statistics, estimator);
      EXPECT_LE(range.min, 0) << shape.name << " " << name_of(estimator);
      EXPECT_GE(range.max, 0) << shape.name << " " << name_of(estimator);
      const Excess excess = estimator == find_estimator("mse") ? excess_of(statistics) : Excess{};
      EXPECT_GE(range.min, std::min(0.0, static_cast<double>(statistics.moments.min) - excess.below) * (1 + kGrid));
      EXPECT_LE(range.max, std::max(0.0, static_cast<double>(statistics.moments.max) + excess.above) * (1 + kGrid));
      EXPECT_EQ(find_estimator(name_of(estimator)), estimator);
    }
  }
  EXPECT_EQ(range_of(ValueStatistics()), Range());
  const std::vector<float> zeros(10, 0.0F);
  EXPECT_EQ(range_of(statistics_of(zeros, 10)), Range());
  const std::vector<float> constant(10, 2.5F);
  for (const Estimator estimator : estimators()) {
    EXPECT_GT(estimate(statistics_of(constant, 10), estimator).max, 2.4) << name_of(estimator);
  }
}

TEST(Estimators, WhatTwoCpusMeasureGivesOneRange) {
  for (const Shape& shape : shapes()) {
    if (shape.name == std::string("tiny")) continue;
    const std::vector<float> numbers = drawn(shape, 5000);
    std::vector<float> noisy = numbers;
    // The largest is a round number; noise is what kernels differ by.
    const float scale = 100 / std::ranges::max(numbers);
    std::mt19937 random(3);
    std::uniform_real_distribution<float> noise(1 - 4e-7F, 1 + 4e-7F);
    std::vector<float> exact = numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      exact[i] = numbers[i] * scale;
      noisy[i] = exact[i] * noise(random);
    }
    for (const Estimator estimator :
         {find_estimator("minmax"), find_estimator("mse"), find_estimator("moving-average")}) {
      EXPECT_EQ(estimate(statistics_of(exact, 500), estimator), estimate(statistics_of(noisy, 500), estimator))
          << shape.name << " " << name_of(estimator);
    }
  }
}

TEST(Estimators, MinMaxClipsNothing) {
  const ValueStatistics statistics = statistics_of(drawn(shapes()[0], 5000), 500);
  const Range range = estimate(statistics, find_estimator("minmax"));
  const double slack = 1 - kGrid / 32;
  EXPECT_LE(range.min, static_cast<double>(statistics.moments.min) * slack);
  EXPECT_GE(range.max, static_cast<double>(statistics.moments.max) * slack);
}

Statistics example() {
  Statistics statistics{42, 3, {}, true};
  for (const Shape& shape : shapes()) {
    ValueStatistics value = statistics_of(drawn(shape, 999), 333);
    value.channels[1].add(measure_channels(drawn(shape, 60), 5, 4, 3).channels);
    statistics.values.emplace(shape.name, std::move(value));
  }
  return statistics;
}

TEST(StatsFile, ComesBackAsItWas) {
  const Statistics statistics = example();
  const auto bytes = write_stats(statistics);
  const auto read = read_stats(Blob::owning(bytes));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, statistics);
  EXPECT_EQ(write_stats(*read), bytes);
}

// A file of version 1: what is missing there is not what is said first.
TEST(StatsFile, AnotherVersionIsNamed) {
  auto bytes = write_stats(Statistics{42, 3, {}, true});
  const auto version = std::ranges::find(bytes, static_cast<std::byte>(kStatsVersion));
  ASSERT_NE(version, bytes.end());
  for (auto at = version; at != bytes.end(); ++at) {
    if (*at != static_cast<std::byte>(kStatsVersion)) continue;
    auto old = bytes;
    old[static_cast<std::size_t>(at - bytes.begin())] = std::byte{1};
    const auto read = read_stats(Blob::owning(old));
    if (!read &&
        read.error().text().find("version 1, this Isthmus reads version 2: calibrate again") != std::string::npos)
      return;
  }
  FAIL() << "no byte of the file is its version";
}

TEST(StatsFile, DamageIsAnErrorAndNeverACrash) {
  const auto bytes = write_stats(example());
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 50) {
    EXPECT_FALSE(read_stats(Blob::owning({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)})));
  }
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    auto damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const auto read = read_stats(Blob::owning(damaged));
    if (read) {
      for (const auto& [name, value] : read->values) range_of(value);
    }
  }
}

TEST(Statistics, OfAnotherModelAreRefused) {
  Statistics a = example();
  Statistics b = example();
  EXPECT_TRUE(a.merge(b));
  EXPECT_EQ(a.samples, 6u);
  b.key = 43;
  const auto merged = a.merge(b);
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().text(), ::testing::HasSubstr("different models"));
}

// Sums are the same to the last bit, whatever vectors a machine has.
TEST(Measure, IsTheSameByEveryKindOfVectors) {
  struct AllTargets {
    ~AllTargets() { choose(0); }
    static void choose(std::int64_t targets) {
      hwy::SetSupportedTargetsForTest(targets);
      hwy::GetChosenTarget().DeInit();
    }
  };
  const AllTargets restored;
  std::mt19937 random(4);
  std::normal_distribution<float> normal(0.1F, 3);
  for (const auto& [outer, channels, inner] :
       {std::array<std::size_t, 3>{1000, 1, 1}, {1, 300, 1}, {7, 13, 1}, {300, 37, 1}, {2, 5, 9}, {1, 3, 5000}}) {
    std::vector<float> numbers(outer * channels * inner);
    std::ranges::generate(numbers, [&] { return normal(random); });
    std::optional<TensorMoments> moments;
    std::optional<ChannelMeasure> by_channel;
    AllTargets::choose(0);
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    for (const std::int64_t target : targets) {
      AllTargets::choose(target);
      const TensorMoments found = measure(numbers);
      const ChannelMeasure channels_found = measure_channels(numbers, outer, channels, inner);
      if (!moments) moments = found;
      if (!by_channel) by_channel = channels_found;
      EXPECT_EQ(found, *moments) << hwy::TargetName(target);
      EXPECT_EQ(channels_found.moments, by_channel->moments) << hwy::TargetName(target);
      EXPECT_EQ(channels_found.channels, by_channel->channels) << hwy::TargetName(target);
    }
  }
}

}  // namespace
}  // namespace isthmus::stats_test
