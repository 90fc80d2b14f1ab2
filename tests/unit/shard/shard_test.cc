// Shards: ranges that cover all samples once, names of files, what may be joined, what lacks.
#include "shard/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shard/manifest.h"

namespace isthmus::shard_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Shard, ShardsAreConsecutiveAndBalanced) {
  for (const std::uint64_t samples : {0u, 1u, 5u, 63u, 64u, 100u, 1001u}) {
    for (const std::uint64_t step : {1u, 4u}) {
      for (std::uint32_t count = 1; count <= 64; ++count) {
        std::uint64_t next = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
          const SampleRange range = range_of({i, count}, samples, step);
          ASSERT_EQ(range.begin, next) << i << "/" << count << " of " << samples;
          ASSERT_GE(range.end, range.begin);
          ASSERT_TRUE(range.count() == 0 || range.begin % step == 0);
          const std::uint64_t steps = (samples + step - 1) / step;
          ASSERT_LE(range.count(), (steps / count + 1) * step);
          next = range.end;
        }
        ASSERT_EQ(next, samples);
      }
    }
  }
}

TEST(Shard, TextsAreReadAndRefused) {
  const auto shard = read_shard("3/8");
  ASSERT_TRUE(shard);
  EXPECT_EQ(*shard, (Shard{3, 8}));
  EXPECT_EQ(text_of(*shard), "3/8");
  for (const char* text : {"", "3", "/", "3/", "/8", "8/8", "-1/8", "3/8x", "3/0", "1/1000001", "1 / 8"}) {
    EXPECT_FALSE(read_shard(text)) << text;
  }
  EXPECT_THAT(read_shard("8/8").error().message, HasSubstr("the last of 8 is 7/8"));
}

TEST(Shard, FilesAreNamedAfterTheirPart) {
  EXPECT_EQ(shard_file("m.stats", {0, 8}), "m.0-of-8.stats");
  EXPECT_EQ(shard_file("a.b/m.v2.eval", {63, 64}), "a.b/m.v2.63-of-64.eval");
  EXPECT_EQ(shard_file("a.b/m", {1, 2}), "a.b/m.1-of-2");
}

Manifest part(Shard shard, std::uint64_t hash = 1) {
  return {.samples = 100,
          .step = 1,
          .facts = {{"target", "xnnpack"}, {"model", "abc"}},
          .parts = {{shard, {hash, 2}}},
          .command = {"isthmus", "calibrate", "my model.pt2"}};
}

TEST(Manifest, PartsOfOneWorkJoin) {
  Manifest joined = part({2, 4});
  ASSERT_TRUE(joined.join(part({0, 4})));
  EXPECT_THAT(joined.missing(), ElementsAre(SampleRange{25, 50}, SampleRange{75, 100}));
  EXPECT_THAT(joined.missing_shards(), ElementsAre(Shard{1, 4}, Shard{3, 4}));
  EXPECT_EQ(joined.missing_text(), "50 of 100 samples are missing: samples 25 to 49, samples 75 to 99");
  EXPECT_EQ(joined.command_of({1, 4}), "isthmus calibrate 'my model.pt2' --shard 1/4");
  ASSERT_TRUE(joined.join(part({1, 4})));
  ASSERT_TRUE(joined.join(part({6, 8})));
  EXPECT_THAT(joined.missing_shards(), ElementsAre(Shard{7, 8}));
  ASSERT_TRUE(joined.join(part({7, 8})));
  EXPECT_TRUE(joined.is_whole());
}

TEST(Manifest, EmptyPartsLackNothing) {
  Manifest all = part({0, 1});
  all.samples = 2;
  Manifest none = part({0, 4});
  none.samples = 2;
  ASSERT_EQ(none.known_samples(), 0u);
  ASSERT_TRUE(all.join(none));
  EXPECT_TRUE(all.is_whole());
  const auto again = read_manifest(write_manifest(all));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, all);
}

TEST(Manifest, OverlapsAndForeignPartsAreRefused) {
  const auto refusal = [](const Manifest& a, const Manifest& b) {
    Manifest joined = a;
    const auto done = joined.join(b);
    EXPECT_EQ(joined, a);
    return done ? std::string("none") : done.error().message;
  };
  EXPECT_THAT(refusal(part({1, 4}), part({1, 4})), HasSubstr("samples 25 to 49 are in both"));
  EXPECT_THAT(refusal(part({1, 4}), part({1, 4}, 7)), HasSubstr("the data changed"));
  EXPECT_THAT(refusal(part({1, 4}), part({2, 7})), HasSubstr("samples 28 to 41 are in both shard 1/4 and shard 2/7"));
  Manifest other = part({2, 4});
  other.facts[0].value = "tosa-int";
  EXPECT_THAT(refusal(part({1, 4}), other), HasSubstr("target is \"xnnpack\" in one and \"tosa-int\" in the other"));
  other = part({2, 4});
  other.facts.push_back({"--sequence", "4"});
  EXPECT_THAT(refusal(part({1, 4}), other), HasSubstr("--sequence is none in one"));
  EXPECT_THAT(refusal(other, part({1, 4})), HasSubstr("--sequence is \"4\" in one and none"));
  other = part({2, 4});
  other.samples = 99;
  EXPECT_THAT(refusal(part({1, 4}), other), HasSubstr("100 samples in one and 99"));
}

TEST(Manifest, RoundTripsThroughFilesAndRejectsDamage) {
  Manifest manifest = part({0, 4});
  ASSERT_TRUE(manifest.join(part({3, 4})));
  const std::vector<std::byte> bytes = write_manifest(manifest);
  const auto read = read_manifest(bytes);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, manifest);
  EXPECT_FALSE(read_manifest(std::span(bytes).first(bytes.size() / 2)));
  EXPECT_FALSE(read_manifest({}));
  std::vector<std::byte> broken = bytes;
  for (std::size_t i = 0; i < broken.size(); ++i) {  // no byte of it makes reading unsafe
    broken = bytes;
    broken[i] ^= std::byte{0xFF};
    if (const auto odd = read_manifest(broken)) (void)odd->missing_shards();
  }
}

}  // namespace
}  // namespace isthmus::shard_test
