// Convolutions and products: one form for all spellings, and the corners of the kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/calls.h"

namespace isthmus::test::conv_ops_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ConvOps, SpellingsOfOneConvolution) {
  constexpr std::string_view kInputs = "input %x : f32[1,4,8,8]\ninput %w : f32[6,2,3,3]\ninput %b : f32[6]";
  const std::string conv = canonical(
      kInputs,
      R"(%y = foreign("aten.conv2d.default", input=%x, weight=%w, bias=%b, padding=[1,1], groups=2) : f32[1,6,8,8])");
  EXPECT_THAT(conv, HasSubstr("conv2d(%0, %1, %2) stride=[1,1] padding=[1,1,1,1] dilation=[1,1] groups=2"));
  EXPECT_EQ(
      conv,
      canonical(
          kInputs,
          R"(%y = foreign("aten.conv2d.padding", input=%x, weight=%w, bias=%b, padding="same", groups=2) : f32[1,6,8,8])"));
  EXPECT_EQ(
      conv,
      canonical(
          kInputs,
          R"(%y = foreign("aten.convolution.default", input=%x, weight=%w, bias=%b, stride=[1,1], padding=[1,1], dilation=[1,1], transposed=false, output_padding=[0,0], groups=2) : f32[1,6,8,8])"));
}

TEST(ConvOps, OneAxisAndNoBatch) {
  const std::string text =
      canonical("input %x : f32[3,9]\ninput %w : f32[4,3,3]",
                R"(%y = foreign("aten.conv1d.default", input=%x, weight=%w, stride=[2], padding=[1]) : f32[4,5])");
  EXPECT_THAT(text, HasSubstr("stride=[1,2] padding=[0,0,1,1]"));
  EXPECT_THAT(text, HasSubstr("f32[1,3,1,9]"));
}

TEST(ConvOps, AnOddTotalPadsMoreAfter) {
  EXPECT_THAT(canonical("input %x : f32[1,1,5,5]\ninput %w : f32[1,1,2,4]",
                        R"(%y = foreign("aten.conv2d.padding", input=%x, weight=%w, padding="same") : f32[1,1,5,5])"),
              HasSubstr("padding=[0,1,1,2]"));
}

TEST(ConvOps, StridesPaddingAndDilation) {
  const auto result = computed(
      "input %x : f32[1,1,1,5]\ninput %w : f32[1,1,1,2]",
      R"(%y = foreign("aten.conv2d.default", input=%x, weight=%w, stride=[1,2], padding=[0,2], dilation=[1,3]) : f32[1,1,1,3])",
      {floats({1, 1, 1, 5}, {1, 2, 3, 4, 5}), floats({1, 1, 1, 2}, {10, 1})});
  EXPECT_THAT(numbers<float>(result[0]), ElementsAre(2, 14, 30));
}

TEST(ConvOps, TransposedWithMoreAddedThanCut) {
  const auto result = computed(
      "input %x : f32[1,1,2]\ninput %w : f32[1,1,2]\ninput %b : f32[1]",
      R"(%y = foreign("aten.conv_transpose1d.default", input=%x, weight=%w, bias=%b, stride=[3], output_padding=[1]) : f32[1,1,6])",
      {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {1, 10}), floats({1}, {100})});
  EXPECT_THAT(numbers<float>(result[0]), ElementsAre(101, 110, 100, 102, 120, 100));
}

TEST(ConvOps, TransposedOverThreeAxesIsTheSameOverTwo) {
  const Tensor filter = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor image = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto flat = computed(
      "input %x : f32[1,1,2,2]\ninput %w : f32[1,1,2,3]",
      R"(%y = foreign("aten.conv_transpose2d.input", input=%x, weight=%w, stride=[2,1], padding=[0,1], dilation=[1,2]) : f32[1,1,4,4])",
      {image, filter});
  const auto deep = computed(
      "input %x : f32[1,1,1,2,2]\ninput %w : f32[1,1,1,2,3]",
      R"(%y = foreign("aten.conv_transpose3d.input", input=%x, weight=%w, stride=[1,2,1], padding=[0,0,1], dilation=[1,1,2]) : f32[1,1,1,4,4])",
      {image.with_sizes({1, 1, 1, 2, 2}), filter.with_sizes({1, 1, 1, 2, 3})});
  EXPECT_EQ(numbers<float>(flat[0]), numbers<float>(deep[0]));
  EXPECT_THAT(numbers<float>(flat[0]), ElementsAre(2, 2, 4, 3, 8, 5, 10, 6, 4, 6, 8, 9, 16, 15, 20, 18));
}

TEST(ConvOps, IntegersWrap) {
  const auto result = computed("input %x : i8[1,1,1,1]\ninput %w : i8[1,1,1,1]",
                               R"(%y = foreign("aten.conv2d.default", input=%x, weight=%w) : i8[1,1,1,1])",
                               {tensor<std::int8_t>({1, 1, 1, 1}, {-100}), tensor<std::int8_t>({1, 1, 1, 1}, {2})});
  EXPECT_THAT(numbers<std::int8_t>(result[0]), ElementsAre(56));
}

TEST(ConvOps, HostileArgumentsAreRefused) {
  constexpr std::string_view kInputs = "input %x : f32[1,4,8,8]\ninput %w : f32[6,4,3,3]";
  const auto refusal = [&](const std::string& more) {
    return canonical(kInputs,
                     R"(%y = foreign("aten.conv2d.default", input=%x, weight=%w, )" + more + ") : f32[1,6,6,6]");
  };
  EXPECT_THAT(refusal("stride=[0,1]"), HasSubstr("stride"));
  EXPECT_THAT(refusal("stride=[1,1,1]"), HasSubstr("3 values"));
  EXPECT_THAT(refusal("dilation=[-1,1]"), HasSubstr("dilation"));
  EXPECT_THAT(refusal("dilation=[9,9]"), HasSubstr("does not fit"));
  EXPECT_THAT(refusal("padding=[9223372036854775807,0]"), HasSubstr("padding"));
  EXPECT_THAT(refusal("padding=[-1,0]"), HasSubstr("padding"));
  EXPECT_THAT(refusal("groups=0"), HasSubstr("0 groups"));
  EXPECT_THAT(refusal("groups=3"), HasSubstr("channels"));
}

TEST(ProductOps, SpellingsOfOneProduct) {
  constexpr std::string_view kInputs = "input %a : f32[2,3,4]\ninput %b : f32[2,4,5]";
  const std::string product =
      canonical(kInputs, R"(%y = foreign("aten.matmul.default", self=%a, other=%b) : f32[2,3,5])");
  EXPECT_THAT(product, HasSubstr("matmul(%0, %1) : f32[2,3,5]"));
  EXPECT_EQ(product, canonical(kInputs, R"(%y = foreign("aten.bmm.default", self=%a, mat2=%b) : f32[2,3,5])"));
  EXPECT_EQ(product,
            canonical(kInputs,
                      R"(%y = foreign("aten.einsum.default", equation="bij,bjk->bik", tensors=[%a,%b]) : f32[2,3,5])"));
  constexpr std::string_view kMatrices = "input %a : f32[3,4]\ninput %b : f32[4,5]\ninput %c : f32[5]";
  EXPECT_EQ(canonical(kMatrices, R"(%y = foreign("aten.addmm.default", self=%c, mat1=%a, mat2=%b) : f32[3,5])"),
            canonical(kMatrices,
                      "%m = foreign(\"aten.mm.default\", self=%a, mat2=%b) : f32[3,5]\n"
                      "%y = foreign(\"aten.add.Tensor\", self=%m, other=%c) : f32[3,5]"));
  EXPECT_EQ(
      canonical(
          kMatrices,
          R"(%y = foreign("aten.tensordot.default", self=%a, other=%b, dims_self=[1], dims_other=[0]) : f32[3,5])"),
      canonical(kMatrices, R"(%y = foreign("aten.mm.default", self=%a, mat2=%b) : f32[3,5])"));
}

TEST(ProductOps, RanksOfMatmul) {
  const auto dot = computed("input %a : f32[3]\ninput %b : f32[3]",
                            R"(%y = foreign("aten.matmul.default", self=%a, other=%b) : f32[])",
                            {floats({3}, {1, 2, 3}), floats({3}, {4, 5, 6})});
  EXPECT_THAT(numbers<float>(dot[0]), ElementsAre(32));
  const auto none = computed("input %a : f32[2,0]\ninput %b : f32[0,1]",
                             R"(%y = foreign("aten.mm.default", self=%a, mat2=%b) : f32[2,1])",
                             {Tensor(DType::kF32, {2, 0}), Tensor(DType::kF32, {0, 1})});
  EXPECT_THAT(numbers<float>(none[0]), ElementsAre(0, 0));
  EXPECT_THAT(canonical("symbol s0 in [1,8] ~3\ninput %a : f32[s0,3,4]\ninput %b : f32[4]",
                        R"(%y = foreign("aten.matmul.default", self=%a, other=%b) : f32[s0,3])"),
              HasSubstr("matmul"));
}

TEST(ProductOps, Einsum) {
  const Tensor square = floats({2, 2}, {1, 2, 3, 4});
  constexpr std::string_view kInput = "input %a : f32[2,2]";
  EXPECT_THAT(numbers<float>(computed(
                  kInput, R"(%y = foreign("aten.einsum.default", equation="ii", tensors=[%a]) : f32[])", {square})[0]),
              ElementsAre(5));
  EXPECT_THAT(
      numbers<float>(computed(kInput, R"(%y = foreign("aten.einsum.default", equation="ii->i", tensors=[%a]) : f32[2])",
                              {square})[0]),
      ElementsAre(1, 4));
  EXPECT_THAT(
      numbers<float>(computed(kInput, R"(%y = foreign("aten.einsum.default", equation="ba", tensors=[%a]) : f32[2,2])",
                              {square})[0]),
      ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(numbers<float>(computed(
                  kInput, R"(%y = foreign("aten.einsum.default", equation="ij,kj,ik->", tensors=[%a,%a,%a]) : f32[])",
                  {square})[0]),
              ElementsAre(5 + 22 + 33 + 100));
  EXPECT_THAT(numbers<float>(computed(
                  kInput, R"(%y = foreign("aten.einsum.default", equation="... i, ...i", tensors=[%a,%a]) : f32[2])",
                  {square})[0]),
              ElementsAre(5, 25));
  for (const std::string_view equation :
       {"ij,jk->ik", "ijk->i", "ij->k", "ij->ii", "i..j->ij", "ij->ij->ij", "1j->j"}) {
    EXPECT_THAT(canonical(kInput, "%y = foreign(\"aten.einsum.default\", equation=\"" + std::string(equation) +
                                      "\", tensors=[%a]) : f32[2,2]"),
                HasSubstr("error"))
        << equation;
  }
}

TEST(ProductOps, WeightsOfLinear) {
  EXPECT_THAT(canonical("input %x : f32[8]\ninput %w : f32[3,8]\ninput %b : f32[3]",
                        R"(%y = foreign("aten.linear.default", input=%x, weight=%w, bias=%b) : f32[3])"),
              HasSubstr("linear(%0, %1, %2) : f32[3]"));
  EXPECT_THAT(canonical("input %x : f32[2,8]\ninput %w : f32[3,7]",
                        R"(%y = foreign("aten.linear.default", input=%x, weight=%w) : f32[2,3])"),
              HasSubstr("error"));
  EXPECT_THAT(canonical("input %a : f32[3,5]\ninput %b : f32[3,4]\ninput %c : f32[4,5]",
                        R"(%y = foreign("aten.addmm.default", self=%a, mat1=%b, mat2=%c, beta=0) : f32[3,5])"),
              Not(HasSubstr("add(")));
}

}  // namespace
}  // namespace isthmus::test::conv_ops_test
