// Pools, norms, attention, images and recurrent layers: one form for all spellings, and the corners of the kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "interpret/interpreter.h"
#include "ir/text.h"
#include "support/calls.h"

namespace isthmus::test::nn_ops_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kImage = "input %x : f32[1,2,6,4]";

TEST(PoolOps, AdaptivePoolsThatArePlainOnes) {
  EXPECT_EQ(canonical(kImage,
                      R"(%y = foreign("aten.adaptive_avg_pool2d.default", self=%x, output_size=[1,1]) : f32[1,2,1,1])"),
            canonical(kImage, R"(%y = foreign("aten.mean.dim", self=%x, dim=[-1,-2], keepdim=true) : f32[1,2,1,1])"));
  EXPECT_EQ(canonical(kImage,
                      R"(%y = foreign("aten.adaptive_avg_pool2d.default", self=%x, output_size=[3,2]) : f32[1,2,3,2])"),
            canonical(kImage, R"(%y = foreign("aten.avg_pool2d.default", self=%x, kernel_size=[2,2]) : f32[1,2,3,2])"));
  EXPECT_EQ(canonical(kImage,
                      "%y, %i = foreign(\"aten.adaptive_max_pool2d.default\", self=%x, output_size=[2,4]) : "
                      "f32[1,2,2,4], i64[1,2,2,4]"),
            canonical(kImage, R"(%y = foreign("aten.max_pool2d.default", self=%x, kernel_size=[3,1]) : f32[1,2,2,4])"));
  EXPECT_EQ(canonical("input %x : f32[2,3,6]",
                      R"(%y = foreign("aten.adaptive_avg_pool1d.default", self=%x, output_size=[1]) : f32[2,3,1])"),
            canonical("input %x : f32[2,3,6]",
                      R"(%y = foreign("aten.mean.dim", self=%x, dim=[2], keepdim=true) : f32[2,3,1])"));
}

TEST(PoolOps, CeilModeOnlyWhereItCounts) {
  EXPECT_THAT(
      canonical(
          kImage,
          R"(%y = foreign("aten.max_pool2d.default", self=%x, kernel_size=[2,2], ceil_mode=true) : f32[1,2,3,2])"),
      Not(HasSubstr("ceil")));
  EXPECT_THAT(
      canonical(
          kImage,
          R"(%y = foreign("aten.max_pool2d.default", self=%x, kernel_size=[4,4], ceil_mode=true) : f32[1,2,2,1])"),
      HasSubstr("ceil_mode=true"));
  // The last window would begin in the padding after the input: it is left out.
  EXPECT_THAT(
      canonical(
          "input %x : f32[1,1,1,3]",
          R"(%y = foreign("aten.max_pool2d.default", self=%x, kernel_size=[1,2], stride=[1,2], padding=[0,1], ceil_mode=true) : f32[1,1,1,2])"),
      HasSubstr("max_pool2d"));
}

TEST(PoolOps, WhatPaddingCounts) {
  const Tensor row = floats({1, 1, 3}, {3, 6, 9});
  const auto average = [&](const std::string& more, int size) {
    return numbers<float>(computed("input %x : f32[1,1,3]",
                                   "%y = foreign(\"aten.avg_pool1d.default\", self=%x, kernel_size=[2], padding=[1], " +
                                       more + ") : f32[1,1," + std::to_string(size) + "]",
                                   {row})[0]);
  };
  EXPECT_THAT(average("stride=[2]", 2), ElementsAre(1.5F, 7.5F));
  EXPECT_THAT(average("stride=[2], count_include_pad=false", 2), ElementsAre(3, 7.5F));
  EXPECT_THAT(average("stride=[3], ceil_mode=true", 2), ElementsAre(1.5F, 4.5F));
}

TEST(PoolOps, PositionsAndNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto result = computed("input %x : f32[1,1,2,4]",
                               "%y, %i = foreign(\"aten.max_pool2d_with_indices.default\", self=%x, kernel_size=[2,2]) "
                               ": f32[1,1,1,2], i64[1,1,1,2]",
                               {floats({1, 1, 2, 4}, {7, 7, 1, nan, 7, 0, 3, 2})}, "%i");
  EXPECT_THAT(numbers<std::int64_t>(result[0]), ElementsAre(0, 3));
}

TEST(PoolOps, HostileArgumentsAreRefused) {
  const auto refusal = [&](const std::string& more) {
    return canonical(kImage, "%y = foreign(\"aten.avg_pool2d.default\", self=%x, " + more + ") : f32[1,2,3,2]");
  };
  EXPECT_THAT(refusal("kernel_size=[0,2]"), HasSubstr("kernel"));
  EXPECT_THAT(refusal("kernel_size=[2,2], stride=[0,0]"), HasSubstr("stride"));
  EXPECT_THAT(refusal("kernel_size=[2,2], padding=[2,2]"), HasSubstr("half"));
  EXPECT_THAT(refusal("kernel_size=[7,2]"), HasSubstr("does not fit"));
  EXPECT_THAT(refusal("kernel_size=[9223372036854775807,2]"), HasSubstr("kernel"));
  EXPECT_THAT(refusal("kernel_size=[2,2], divisor_override=0"), HasSubstr("the divisor is 0"));
  EXPECT_THAT(refusal("kernel_size=[]"), HasSubstr("0 values"));
}

TEST(NormOps, SpellingsOfOneNorm) {
  constexpr std::string_view kInputs = "input %x : f32[2,4,6]\ninput %w : f32[6]\ninput %b : f32[6]";
  EXPECT_EQ(
      canonical(
          kInputs,
          R"(%y = foreign("aten.layer_norm.default", input=%x, normalized_shape=[6], weight=%w, bias=%b) : f32[2,4,6])"),
      canonical(kInputs,
                "%y, %m, %r = foreign(\"aten.native_layer_norm.default\", input=%x, normalized_shape=[6], weight=%w, "
                "bias=%b, eps=1e-05) : f32[2,4,6], f32[2,4,1], f32[2,4,1]"));
  EXPECT_EQ(
      canonical(
          "input %x : f32[2,4,6]",
          R"(%y = foreign("aten.instance_norm.default", input=%x, use_input_stats=true, momentum=0.1, eps=1e-05, cudnn_enabled=true) : f32[2,4,6])"),
      canonical("input %x : f32[2,4,6]",
                R"(%y = foreign("aten.group_norm.default", input=%x, num_groups=4) : f32[2,4,6])"));
  constexpr std::string_view kStats = "input %x : f32[2,4,6]\ninput %m : f32[4]\ninput %v : f32[4]";
  EXPECT_EQ(
      canonical(
          kStats,
          R"(%y = foreign("aten.batch_norm.default", input=%x, running_mean=%m, running_var=%v, training=false, momentum=0.1, eps=1e-05, cudnn_enabled=true) : f32[2,4,6])"),
      canonical(kStats,
                "%y, %s, %t = foreign(\"aten._native_batch_norm_legit_no_training.default\", input=%x, "
                "running_mean=%m, running_var=%v, momentum=0.1, eps=1e-05) : f32[2,4,6], f32[0], f32[0]"));
}

TEST(NormOps, TrainingIsRefusedWithAnAdvice) {
  EXPECT_THAT(
      canonical(
          "input %x : f32[2,4]\ninput %m : f32[4]\ninput %v : f32[4]",
          R"(%y = foreign("aten.batch_norm.default", input=%x, running_mean=%m, running_var=%v, training=true, momentum=0.1, eps=1e-05, cudnn_enabled=true) : f32[2,4])"),
      HasSubstr(".eval()"));
}

TEST(NormOps, GroupsAndTheirParameters) {
  const auto result = computed(
      "input %x : f32[1,4,1]\ninput %w : f32[4]\ninput %b : f32[4]",
      R"(%y = foreign("aten.group_norm.default", input=%x, num_groups=2, weight=%w, bias=%b, eps=0.0) : f32[1,4,1])",
      {floats({1, 4, 1}, {1, 3, 10, 30}), floats({4}, {1, 2, 3, 4}), floats({4}, {0, 0, 0, 1})});
  EXPECT_THAT(numbers<float>(result[0]), ElementsAre(-1, 2, -3, 5));
  EXPECT_THAT(canonical("input %x : f32[1,4,1]",
                        R"(%y = foreign("aten.group_norm.default", input=%x, num_groups=0) : f32[1,4,1])"),
              HasSubstr("0 groups"));
}

TEST(AttentionOps, MasksAndGroupedHeads) {
  constexpr std::string_view kInputs =
      "input %q : f32[1,2,4]\ninput %k : f32[1,2,4]\ninput %v : f32[1,2,1]\ninput %m : bool[2,2]";
  const std::vector<Tensor> values{Tensor(DType::kF32, {1, 2, 4}), Tensor(DType::kF32, {1, 2, 4}),
                                   floats({1, 2, 1}, {2, 4}), tensor<std::uint8_t>({2, 2}, {0, 0, 1, 1}, DType::kBool)};
  // A query that sees no key gives zeros.
  EXPECT_THAT(
      numbers<float>(computed(
          kInputs,
          R"(%y = foreign("aten.scaled_dot_product_attention.default", query=%q, key=%k, value=%v, attn_mask=%m) : f32[1,2,1])",
          values)[0]),
      ElementsAre(0, 3));
  EXPECT_THAT(
      numbers<float>(computed(
          kInputs,
          R"(%y = foreign("aten.scaled_dot_product_attention.default", query=%q, key=%k, value=%v, is_causal=true) : f32[1,2,1])",
          values)[0]),
      ElementsAre(2, 3));
  EXPECT_EQ(
      canonical(
          kInputs,
          R"(%y = foreign("aten.scaled_dot_product_attention.default", query=%q, key=%k, value=%v, scale=0.5) : f32[1,2,1])"),
      canonical(
          kInputs,
          R"(%y = foreign("aten.scaled_dot_product_attention.default", query=%q, key=%k, value=%v) : f32[1,2,1])"));
  EXPECT_THAT(
      canonical(
          kInputs,
          R"(%y = foreign("aten.scaled_dot_product_attention.default", query=%q, key=%k, value=%v, dropout_p=0.1) : f32[1,2,1])"),
      HasSubstr("dropout"));
  EXPECT_THAT(
      canonical(
          "input %q : f32[1,4,2,8]\ninput %k : f32[1,2,3,8]",
          R"(%y = foreign("aten.scaled_dot_product_attention.default", query=%q, key=%k, value=%k, enable_gqa=true) : f32[1,4,2,8])"),
      HasSubstr("f32[1,2,2,3,8]"));
}

TEST(ImageOps, ScalesThatTheSizesSay) {
  const std::string twice = canonical(
      kImage,
      R"(%y = foreign("aten.upsample_nearest2d.vec", input=%x, output_size=none, scale_factors=[2.0,2.0]) : f32[1,2,12,8])");
  EXPECT_THAT(twice, HasSubstr("resize2d(%0) size=[12,8] : "));
  EXPECT_EQ(
      twice,
      canonical(kImage,
                R"(%y = foreign("aten.upsample_nearest2d.default", self=%x, output_size=[12,8]) : f32[1,2,12,8])"));
  EXPECT_THAT(
      canonical(
          kImage,
          R"(%y = foreign("aten.upsample_bilinear2d.vec", input=%x, output_size=none, align_corners=false, scale_factors=[1.7,2.3]) : f32[1,2,10,9])"),
      HasSubstr("scales=[1.7,2.3]"));
  EXPECT_THAT(
      canonical(
          "symbol s0 in [2,64] ~8\ninput %x : f32[1,2,s0,4]",
          R"(%y = foreign("aten.upsample_nearest2d.vec", input=%x, output_size=none, scale_factors=[1.5,1.0]) : f32[1,2,floordiv(3*s0,2),4])"),
      HasSubstr("size=[floordiv(s0,2)+s0,4] scales=[1.5,1.0]"));
}

TEST(ImageOps, HostileArgumentsAreRefused) {
  EXPECT_THAT(
      canonical(
          kImage,
          R"(%y = foreign("aten.upsample_nearest2d.vec", input=%x, output_size=none, scale_factors=[-2.0,2.0]) : f32[1,2,12,8])"),
      HasSubstr("scale"));
  EXPECT_THAT(
      canonical(
          kImage,
          R"(%y = foreign("aten.upsample_nearest2d.vec", input=%x, output_size=none, scale_factors=[1e300,2.0]) : f32[1,2,12,8])"),
      HasSubstr("scale"));
  EXPECT_THAT(
      canonical(kImage, R"(%y = foreign("aten.upsample_nearest2d.vec", input=%x, output_size=[0,8]) : f32[1,2,0,8])"),
      HasSubstr("size"));
  EXPECT_THAT(
      canonical(
          "input %x : f32[1,2,6,4]\ninput %g : f32[1,3,3,2]",
          R"(%y = foreign("aten.grid_sampler.default", input=%x, grid=%g, interpolation_mode=7, padding_mode=0, align_corners=false) : f32[1,2,3,3])"),
      HasSubstr("mode"));
}

TEST(ImageOps, EmptyImagesAreRejectedAtRunTime) {
  constexpr std::string_view kGraphs[] = {
      "graph\n  symbol s0 in [0,64] ~8\n  input %x : f32[1,2,s0,4]\n"
      "  %y = resize2d(%x) size=[3,4] : f32[1,2,3,4]\n  return %y\n",
      "graph\n  symbol s0 in [0,64] ~8\n  input %x : f32[1,2,s0,4]\n  input %g : f32[1,3,3,2]\n"
      "  %y = grid_sample(%x, %g) : f32[1,2,3,3]\n  return %y\n",
  };
  for (const std::string_view text : kGraphs) {
    const auto graph = parse_graph(text);
    ASSERT_TRUE(graph) << graph.error().text();
    std::vector<Tensor> inputs{Tensor(DType::kF32, {1, 2, 0, 4})};
    if (graph->inputs().size() > 1) inputs.push_back(Tensor(DType::kF32, {1, 3, 3, 2}));
    const auto outputs = interpret(*graph, inputs);
    ASSERT_FALSE(outputs) << text;
    EXPECT_THAT(outputs.error().text(), HasSubstr("the image is empty"));
  }
}

TEST(RecurrentOps, ACellAndALayerOfOneStepAgree) {
  constexpr std::string_view kInputs =
      "input %x : f32[1,1,2]\ninput %h : f32[1,1,1]\ninput %w : f32[1,2]\ninput %u : f32[1,1]";
  const std::vector<Tensor> values{floats({1, 1, 2}, {1, 2}), floats({1, 1, 1}, {0.5F}), floats({1, 2}, {0.1F, 0.2F}),
                                   floats({1, 1}, {1})};
  const auto layer = computed(
      kInputs,
      "%y, %n = foreign(\"aten.rnn_relu.input\", input=%x, hx=%h, params=[%w,%u], has_biases=false, num_layers=1, "
      "dropout=0.0, train=false, bidirectional=false, batch_first=true) : f32[1,1,1], f32[1,1,1]",
      values, "%y, %n");
  EXPECT_THAT(numbers<float>(layer[0]), ElementsAre(FloatNear(1, 1e-6F)));
  EXPECT_THAT(numbers<float>(layer[1]), ElementsAre(FloatNear(1, 1e-6F)));
  EXPECT_THAT(
      canonical(
          "symbol s0 in [1,8] ~3\ninput %x : f32[s0,1,2]\ninput %h : f32[1,1,1]\ninput %w : f32[1,2]\ninput %u : "
          "f32[1,1]",
          "%y, %n = foreign(\"aten.rnn_relu.input\", input=%x, hx=%h, params=[%w,%u], has_biases=false, num_layers=1, "
          "dropout=0.0, train=false, bidirectional=false, batch_first=false) : f32[s0,1,1], f32[1,1,1]"),
      HasSubstr("static number of steps"));
}

}  // namespace
}  // namespace isthmus::test::nn_ops_test
