// Which samples calibration does not see, and what is said of data that lie.
#include "calibrate/held_out.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "ir/text.h"

namespace isthmus::held_out_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Graph graph_of_one_input(const std::string& shape = "1,64") {
  auto graph = parse_graph("graph\n  input %x : f32[" + shape + "]\n  return %x\n");
  CHECK(graph.has_value(), graph ? "" : graph.error().text());
  return *std::move(graph);
}

Sample noise(unsigned seed, float size = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::kF32, {1, 64});
  for (float& number : tensor.mutable_data<float>()) number = size * normal(random);
  return {tensor};
}
std::vector<Sample> many(std::size_t count, float size = 1) {
  std::vector<Sample> samples;
  for (unsigned i = 0; i < count; ++i) samples.push_back(noise(i, size));
  return samples;
}

struct Found {
  HeldOut held_out;
  std::vector<std::string> codes;
  std::string text;
};
Found look(std::vector<Sample> samples, const std::optional<Sample>& example, const std::string& shape = "1,64") {
  const Graph graph = graph_of_one_input(shape);
  const auto source = given_samples(std::move(samples));
  Diagnostics diagnostics;
  auto held_out = hold_out(graph, *source, example, 4, diagnostics);
  EXPECT_TRUE(held_out) << held_out.error().text();
  Found found;
  if (held_out) found.held_out = *std::move(held_out);
  for (const Diagnostic& entry : diagnostics.entries()) {
    found.codes.push_back(entry.code);
    found.text += entry.text;
  }
  return found;
}

TEST(HeldOut, EveryEighthAtLeastOneAtMostSixteen) {
  EXPECT_THAT(numbers_left_out(0), IsEmpty());
  EXPECT_THAT(numbers_left_out(1), IsEmpty());
  EXPECT_THAT(numbers_left_out(2), ElementsAre(1));
  EXPECT_THAT(numbers_left_out(7), ElementsAre(6));
  EXPECT_THAT(numbers_left_out(32), ElementsAre(7, 15, 23, 31));
  EXPECT_THAT(numbers_left_out(1000), SizeIs(16));
  for (std::size_t count = 2; count < 300; ++count) EXPECT_LT(numbers_left_out(count).back(), count);
}

TEST(HeldOut, FewSamplesAllCalibrateAndTheExampleEvaluates) {
  const Found found = look(many(32), noise(99));
  EXPECT_THAT(found.held_out.left_out, IsEmpty());
  EXPECT_THAT(found.held_out.samples, SizeIs(1));
  EXPECT_THAT(found.held_out.seen, SizeIs(4));
  EXPECT_EQ(found.held_out.what, "the example inputs, which calibration did not see");
  EXPECT_THAT(found.codes, IsEmpty());
}

TEST(HeldOut, ExamplesThatAreSamplesOrConstantDoNotEvaluate) {
  for (const auto& example :
       {std::optional(noise(3)), std::optional(Sample{Tensor(DType::kF32, {1, 64})}), std::optional<Sample>()}) {
    const Found found = look(many(32), example);
    EXPECT_THAT(found.held_out.left_out, ElementsAre(7, 15, 23, 31));
    EXPECT_THAT(found.held_out.samples, SizeIs(4));
    EXPECT_EQ(found.held_out.what, "4 of 32 samples, which calibration did not see");
  }
  EXPECT_EQ(look(many(1), noise(0)).held_out.why_none, "calibration saw the only sample; give at least 2");
}

TEST(HeldOut, OfManySamplesSomeAreLeftOut) {
  const Found found = look(many(200), noise(999));
  EXPECT_THAT(found.held_out.left_out, SizeIs(16));
  EXPECT_THAT(found.held_out.samples, SizeIs(16));
}

TEST(HeldOut, ConstantAndTinyDataAreReportedAndNotUsedForEvaluation) {
  for (const float size : {0.0F, 1e-40F}) {
    const Found with = look(many(32, size), noise(99));
    EXPECT_THAT(with.codes, ElementsAre(size == 0 ? "constant-input" : "tiny-input"));
    EXPECT_EQ(with.held_out.what, "the example inputs, which calibration did not see");
    const Found without = look(many(32, size), std::nullopt);
    EXPECT_THAT(without.held_out.samples, IsEmpty());
    EXPECT_NE(without.held_out.why_none, "");
  }
}

TEST(HeldOut, OutliersAreNamedWithTheirSample) {
  std::vector<Sample> samples = many(32);
  samples[5][0].mutable_data<float>()[7] = 1e38F;
  const Found found = look(samples, noise(99));
  EXPECT_THAT(found.codes, ElementsAre("outlier-input"));
  EXPECT_THAT(found.text, testing::HasSubstr("sample 5"));
}

TEST(HeldOut, DataUnlikeTheExampleIsReported) {
  EXPECT_THAT(look(many(32, 100), noise(99)).codes, ElementsAre("unlike-example"));
  EXPECT_THAT(look(many(32, 0.01F), noise(99)).codes, ElementsAre("unlike-example"));
  EXPECT_THAT(look(many(32, 4), noise(99)).codes, IsEmpty());
}

// A smooth image of three colours, in planes or pixel by pixel, in the shape of planes.
Sample image(float phase, bool interleaved) {
  constexpr std::size_t kChannels = 3;
  constexpr std::size_t kSize = 16;
  Tensor tensor(DType::kF32, {1, kChannels, kSize, kSize});
  const auto numbers = tensor.mutable_data<float>();
  for (std::size_t c = 0; c < kChannels; ++c) {
    for (std::size_t at = 0; at < kSize * kSize; ++at) {
      const auto y = static_cast<float>(at / kSize);
      const auto x = static_cast<float>(at % kSize);
      const float colour = std::sin(phase + 0.2F * x + 0.1F * y + 2 * static_cast<float>(c));
      numbers[interleaved ? at * kChannels + c : c * kSize * kSize + at] = colour;
    }
  }
  return {tensor};
}
std::vector<Sample> images(bool interleaved) {
  std::vector<Sample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back(image(static_cast<float>(i), interleaved));
  return samples;
}
Found look_at_images(bool interleaved, const std::optional<Sample>& example) {
  return look(images(interleaved), example, "1,3,16,16");
}

TEST(HeldOut, ChannelsLastDataInNchwShapeIsReported) {
  EXPECT_THAT(look_at_images(false, std::nullopt).codes, IsEmpty());
  EXPECT_THAT(look_at_images(true, std::nullopt).codes, ElementsAre("interleaved-input"));
  EXPECT_THAT(look_at_images(true, image(9, false)).codes, ElementsAre("interleaved-input"));
  EXPECT_THAT(look_at_images(true, image(9, true)).codes, IsEmpty());
  Sample grey = image(9, false);  // noise has no neighbours
  std::mt19937 random(7);
  for (float& number : grey[0].mutable_data<float>()) number = static_cast<float>(random() % 1000) / 1000;
  EXPECT_THAT(look({grey}, std::nullopt, "1,3,16,16").codes, IsEmpty());
}

TEST(HeldOut, NanSamplesAreRejected) {
  std::vector<Sample> samples = many(3);
  samples[2][0].mutable_data<float>()[0] = std::nanf("");
  const auto source = given_samples(samples);
  Diagnostics diagnostics;
  const auto found = hold_out(graph_of_one_input(), *source, std::nullopt, 4, diagnostics);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().text(), testing::HasSubstr("sample 2 of input 0 (x)"));
}

TEST(HeldOut, CalibrationSeesTheOthers) {
  const auto rest = without(given_samples(many(9)), {3, 8});
  EXPECT_EQ(rest->count(), 7U);
  std::size_t count = 0;
  while (rest->next().value()) ++count;
  EXPECT_EQ(count, 7U);
}

}  // namespace
}  // namespace isthmus::held_out_test
