// The law of merging: samples that were measured apart, in any number of parts, merged in any order and any grouping,
// kept in files in between or not, give the bytes of one run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "calibrate/calibrate.h"
#include "calibrate/shard_samples.h"
#include "evaluate/evaluate.h"
#include "evaluate/evaluation_file.h"
#include "session/stages.h"
#include "stats/measure.h"
#include "stats/statistics.h"
#include "stats/stats_file.h"
#include "support/models.h"
#include "targets/registry.h"

namespace isthmus::merge_law_test {
namespace {

using Bytes = std::vector<std::byte>;

// Tensors of one value: of any scale, one-sided or not, with zeros of both signs and numbers that are none.
class RandomValue {
 public:
  explicit RandomValue(unsigned seed) : random_(seed) {
    outer_ = 1 + below(4);
    channels_ = 1 + below(40);
    inner_ = below(2) == 0 ? 1 : 1 + below(300);
    scale_ = std::ldexp(1.0F, static_cast<int>(below(250)) - 130);
    one_sided_ = below(3) == 0;
    odd_ = below(4) == 0;
  }

  void add_sample(ValueStatistics& statistics) {
    std::vector<float> numbers(outer_ * channels_ * inner_);
    const float scale = scale_ * std::exp2(normal_(random_) * 3);
    for (float& number : numbers) number = draw(scale);
    const ChannelMeasure measured = measure_channels(numbers, outer_, channels_, inner_);
    statistics.add_sample(measured.moments);
    statistics.channels[1].add(measured.channels);
    if (measured.moments.count == 0) return;
    std::vector<float> finite;
    const std::size_t stride = 1 + numbers.size() / 64;  // extremes are mostly left out
    for (std::size_t i = 0; i < numbers.size(); i += stride) {
      if (std::isfinite(numbers[i])) finite.push_back(numbers[i]);
    }
    statistics.histogram.add(finite, 1, measured.moments.min, measured.moments.max);
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  float draw(float scale) {
    if (below(8) == 0) return below(2) == 0 ? 0.0F : -0.0F;
    if (odd_ && below(20) == 0) {
      return below(2) == 0 ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
    }
    const float number = normal_(random_) * scale;
    return one_sided_ ? std::abs(number) : number;
  }

  std::mt19937 random_;
  std::normal_distribution<float> normal_;
  std::size_t outer_, channels_, inner_;
  float scale_;
  bool one_sided_, odd_;
};

Statistics through_file(const Statistics& statistics) {
  auto read = read_stats(Blob::owning(write_stats(statistics)));
  EXPECT_TRUE(read) << read.error().text();
  return std::move(*read);
}

// Merges two of them that are drawn by chance until one is left; each may go through a file.
Bytes merged(std::vector<Statistics> parts, std::mt19937& random) {
  while (parts.size() > 1) {
    std::ranges::shuffle(parts, random);
    Statistics last = random() % 2 == 0 ? through_file(parts.back()) : std::move(parts.back());
    parts.pop_back();
    Statistics& other = parts[random() % parts.size()];
    if (random() % 2 == 0) other = through_file(other);
    EXPECT_TRUE(other.merge(last));
  }
  return write_stats(parts[0]);
}

TEST(MergeLaw, StatisticsOfAnyShardsAreThoseOfOneRun) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::size_t samples = 1 + random() % 70;
    std::vector<RandomValue> values;
    for (unsigned i = 0; i < 1 + seed % 4; ++i) values.emplace_back(100 * seed + i);
    Statistics whole{seed, 0, {}, true};
    std::vector<Statistics> each;
    for (std::size_t s = 0; s < samples; ++s) {
      Statistics& one = each.emplace_back(Statistics{seed, 1, {}, true});
      ++whole.samples;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string name = "v" + std::to_string(i);
        RandomValue again = values[i];  // the same numbers for both
        values[i].add_sample(one.values[name]);
        again.add_sample(whole.values[name]);
      }
    }
    const Bytes expected = write_stats(whole);
    for (int round = 0; round < 3; ++round) {
      std::vector<Statistics> shards(1 + random() % 64);
      std::set<std::size_t> used;
      for (const Statistics& one : each) {
        const std::size_t at = random() % shards.size();
        if (used.insert(at).second) {
          shards[at] = one;
        } else {
          ASSERT_TRUE(shards[at].merge(one));
        }
      }
      std::vector<Statistics> parts;
      for (const std::size_t at : used) parts.push_back(std::move(shards[at]));
      ASSERT_EQ(merged(std::move(parts), random), expected) << "seed " << seed;
    }
  }
}

// Evaluations of all numbers of shards, joined in any order and grouping.
TEST(MergeLaw, EvaluationsOfAnyShardsAreThoseOfOneRun) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const auto drawn = [&](std::int64_t rows) {
    Tensor tensor(DType::kF32, {rows, 5});
    std::vector<float> numbers(static_cast<std::size_t>(rows) * 5);
    const float scale = std::exp2(normal(random) * 8);
    for (float& number : numbers) number = normal(random) * scale;
    std::memcpy(tensor.mutable_bytes().data(), numbers.data(), numbers.size() * sizeof(float));
    return tensor;
  };
  for (std::uint32_t count = 1; count <= 64; ++count) {
    const std::size_t samples = 1 + random() % 90;
    std::vector<std::vector<Tensor>> all;
    for (std::size_t i = 0; i < samples; ++i) all.push_back({drawn(2), drawn(2)});
    std::vector<std::int64_t> labels(2 * samples);
    for (std::int64_t& label : labels) label = static_cast<std::int64_t>(random() % 5);
    if (count % 3 == 0) labels.clear();
    const Runner wanted = [](std::span<const Tensor> inputs) -> Expected<std::vector<std::optional<Tensor>>> {
      return std::vector<std::optional<Tensor>>{inputs[0], inputs[1]};
    };
    const Runner found = [](std::span<const Tensor> inputs) -> Expected<std::vector<std::optional<Tensor>>> {
      return std::vector<std::optional<Tensor>>{inputs[1], inputs[0]};
    };
    const auto whole = evaluate(wanted, found, *given_samples(all), labels);
    ASSERT_TRUE(whole) << whole.error().text();
    std::vector<EvaluationFile> parts;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto source = ShardSamples::of(given_samples(all), {i, count});
      ASSERT_TRUE(source);
      auto part = evaluate(wanted, found, **source, labels);
      ASSERT_TRUE(part) << part.error().text();
      part->part = (*source)->manifest();
      parts.push_back({"m.pte", *std::move(part)});
    }
    while (parts.size() > 1) {
      std::ranges::shuffle(parts, random);
      const auto last = read_evaluation(Blob::owning(write_evaluation(parts.back())));
      ASSERT_TRUE(last) << last.error().text();
      parts.pop_back();
      ASSERT_TRUE(parts[random() % parts.size()].evaluation.merge(last->evaluation));
    }
    ASSERT_TRUE(parts[0].evaluation.part->is_whole());
    parts[0].evaluation.part.reset();
    EXPECT_EQ(write_evaluation(parts[0]), write_evaluation({"m.pte", *whole})) << count << " shards";
  }
}

// The same of a model: its calibration in shards, on one thread or two.
TEST(MergeLaw, AModelInShardsIsCalibratedAsAtOnce) {
  Diagnostics diagnostics;
  const auto model = test::open(test::source_dir() / "tests/models/fmnist/vit.pt2", diagnostics);
  ASSERT_TRUE(model) << model.error().text();
  const auto ready = prepare(model->graph, {find_target("xnnpack"), {}}, diagnostics);
  ASSERT_TRUE(ready) << ready.error().text();
  const auto source = open_samples((test::source_dir() / "tests/models/fmnist/test_500.npz").string(), ready->graph,
                                   {.limit = 64}, diagnostics);
  ASSERT_TRUE(source) << source.error().text();
  std::vector<std::vector<Tensor>> samples;
  while (auto sample = *(*source)->next()) samples.push_back(*std::move(sample));
  ASSERT_EQ(samples.size(), 64u);
  const auto calibrated = [&](std::vector<std::vector<Tensor>> of, std::size_t threads) {
    const auto given = given_samples(std::move(of));
    auto statistics = calibrate(*ready, *given, xnnpack::ThreadPool(threads), {}, diagnostics);
    EXPECT_TRUE(statistics) << statistics.error().text();
    return std::move(*statistics);
  };
  const Bytes expected = write_stats(calibrated(samples, 1));
  std::mt19937 random(1);
  for (const std::uint32_t count : {1u, 3u, 7u, 33u, 64u}) {
    std::vector<Statistics> shards;
    for (std::uint32_t i = 0; i < count; ++i) {
      const SampleRange range = range_of({i, count}, samples.size());
      const auto at = [&](std::uint64_t n) { return samples.begin() + static_cast<std::ptrdiff_t>(n); };
      shards.push_back(calibrated({at(range.begin), at(range.end)}, 1 + i % 2));
    }
    EXPECT_EQ(merged(std::move(shards), random), expected) << count << " shards";
  }
}

}  // namespace
}  // namespace isthmus::merge_law_test
