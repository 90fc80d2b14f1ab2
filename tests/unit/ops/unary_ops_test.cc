// Functions of one number and activations: one canonical form for all names, NaN, integers and halves.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/spellings.h"

namespace isthmus::unary_ops_test {
namespace {

using test::form_of;
using test::is_refused;
using test::run;
using test::same_form;
using Numbers = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(UnaryOps, RectifiersAreClamps) {
  EXPECT_TRUE(same_form(
      "%x : f32[2]", "f32[2]",
      {R"("aten.relu.default", self=%x)", R"("aten.clamp.default", self=%x, min=0)",
       R"("aten.clamp.default", self=%x, min=0.0)", R"("aten.clip.default", self=%x, min=0)",
       R"("aten.clamp_min.default", self=%x, min=0)", R"("aten.threshold.default", self=%x, threshold=0, value=0)",
       R"("aten.hardtanh.default", self=%x, min_val=0.0, max_val=inf)"}));
  EXPECT_TRUE(same_form(
      "%x : f32[2]", "f32[2]",
      {R"("aten.relu6.default", self=%x)", R"("aten.hardtanh.default", self=%x, min_val=0.0, max_val=6.0)",
       R"("aten.clamp.default", self=%x, min=0, max=6)", R"("aten.clip.default", self=%x, min=0.0, max=6.0)"}));
  EXPECT_EQ(form_of("%x : f32[2]", "f32[2]", R"("aten.hardtanh.default", self=%x)"),
            "%1 = clamp(%0) min=-1.0 max=1.0 : f32[2]\nreturn %1\n");
  // The upper bound wins; NaN stays; integers with a fraction as bound become floats.
  EXPECT_EQ(run("%x : f32[2]", "f32[2]", R"("aten.clamp.default", self=%x, min=3, max=1)", {{0, 5}}), (Numbers{1, 1}));
  EXPECT_TRUE(std::isnan(run("%x : f32[1]", "f32[1]", R"("aten.relu.default", self=%x)", {{kNan}})[0]));
  EXPECT_TRUE(std::isnan(run("%x : f32[1]", "f32[1]", R"("aten.clamp.default", self=%x, min=nan)", {{1}})[0]));
  EXPECT_EQ(run("%x : i32[2]", "f32[2]", R"("aten.clamp.default", self=%x, min=0.5)", {{0, 5}}), (Numbers{0.5, 5}));
  EXPECT_EQ(run("%x : u8[2]", "u8[2]", R"("aten.clamp.default", self=%x, max=7)", {{0, 255}}), (Numbers{0, 7}));
  EXPECT_EQ(run("%x : f32[2], %z : f32[2]", "f32[2]", R"("aten.clamp.Tensor", self=%x, max=%z)", {{1, 5}, {2, 3}}),
            (Numbers{1, 3}));
}

TEST(UnaryOps, AliasesOfFunctions) {
  for (const std::string_view name : {"sin", "cos", "tan", "sinh", "cosh", "tanh"}) {
    EXPECT_TRUE(same_form("%x : f32[2]", "f32[2]",
                          {"\"aten.a" + std::string(name) + ".default\", self=%x",
                           "\"aten.arc" + std::string(name) + ".default\", self=%x"}));
  }
  EXPECT_TRUE(
      same_form("%x : f32[2]", "f32[2]", {R"("aten.neg.default", self=%x)", R"("aten.negative.default", self=%x)"}));
  EXPECT_TRUE(
      same_form("%x : f32[2]", "f32[2]", {R"("aten.abs.default", self=%x)", R"("aten.absolute.default", self=%x)"}));
  EXPECT_TRUE(same_form("%x : f32[2]", "f32[2]",
                        {R"("aten.sigmoid.default", self=%x)", R"("aten.special_expit.default", self=%x)"}));
}

TEST(UnaryOps, IntegersAndCorners) {
  EXPECT_EQ(run("%x : i64[2]", "f32[2]", R"("aten.sqrt.default", self=%x)", {{4, 9}}), (Numbers{2, 3}));
  EXPECT_EQ(form_of("%x : i64[2]", "i64[2]", R"("aten.floor.default", self=%x)"), "return %0\n");
  EXPECT_EQ(run("%x : i8[2]", "i8[2]", R"("aten.abs.default", self=%x)", {{-128, -5}}), (Numbers{-128, 5}));
  EXPECT_EQ(run("%x : f32[4]", "f32[4]", R"("aten.round.default", self=%x)", {{0.5, 1.5, 2.5, -0.5}}),
            (Numbers{0, 2, 2, 0}));
  EXPECT_EQ(run("%x : f32[2]", "f32[2]", R"("aten.round.decimals", self=%x, decimals=-1)", {{15, 26}}),
            (Numbers{20, 30}));
  EXPECT_EQ(run("%x : f32[3]", "f32[3]", R"("aten.sign.default", self=%x)", {{kNan, -2, 3}}), (Numbers{0, -1, 1}));
  EXPECT_EQ(run("%x : f32[3]", "f32[3]", R"("aten.nan_to_num.default", self=%x)", {{kNan, kInfinity, 1}}),
            (Numbers{0, static_cast<double>(std::numeric_limits<float>::max()), 1}));
  EXPECT_EQ(form_of("%x : f16[2]", "f16[2]", R"("aten.nan_to_num.default", self=%x)"),
            "%1 = nan_to_num(%0) posinf=65504.0 neginf=-65504.0 : f16[2]\nreturn %1\n");
  EXPECT_EQ(run("%x : f32[2]", "f32[2]", R"("aten.sinc.default", self=%x)", {{0, 0}}), (Numbers{1, 1}));
  EXPECT_EQ(run("%x : f32[0]", "f32[0]", R"("aten.exp.default", self=%x)", {{}}), Numbers{});
  EXPECT_EQ(run("%x : f32[2]", "f32[2]", R"("aten.frac.default", self=%x)", {{-1.5, 2.25}}), (Numbers{-0.5, 0.25}));
}

TEST(UnaryOps, Activations) {
  EXPECT_TRUE(same_form("%x : f32[2]", "f32[2]",
                        {R"("aten.elu.default", self=%x, alpha=2.0)",
                         R"("aten.elu.default", self=%x, alpha=2, scale=1, input_scale=1)"}));
  EXPECT_TRUE(
      same_form("%x : f32[2]", "f32[2]", {R"("aten.celu.default", self=%x)", R"("aten.elu.default", self=%x)"}));
  EXPECT_TRUE(same_form("%x : f32[2]", "f32[2]",
                        {R"("aten.rrelu.default", self=%x, lower=0.25, upper=0.75)",
                         R"("aten.leaky_relu.default", self=%x, negative_slope=0.5)"}));
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.rrelu.default", self=%x, training=true)"));
  EXPECT_TRUE(same_form("%x : f32[2]", "f32[2]",
                        {R"("aten.gelu.default", self=%x)", R"("aten.gelu.default", self=%x, approximate="none")"}));
  EXPECT_EQ(run("%x : f32[4]", "f32[4]", R"("aten.hardswish.default", self=%x)", {{-4, 0, 3, 5}}),
            (Numbers{0, 0, 3, 5}));
  EXPECT_EQ(run("%x : f32[3]", "f32[3]", R"("aten.softshrink.default", self=%x)", {{-1, 0.25, 1}}),
            (Numbers{-0.5, 0, 0.5}));
  EXPECT_EQ(run("%x : f32[3]", "f32[3]", R"("aten.hardshrink.default", self=%x)", {{-1, 0.5, 1}}), (Numbers{-1, 0, 1}));
  EXPECT_EQ(run("%x : f32[3]", "f32[3]", R"("aten.threshold.default", self=%x, threshold=1, value=7)", {{1, 2, -3}}),
            (Numbers{7, 2, 7}));
  EXPECT_EQ(run("%x : f32[1,2,2], %w : f32[2]", "f32[1,2,2]", R"("aten.prelu.default", self=%x, weight=%w)",
                {{-1, 1, -1, 2}, {0.5, 0.25}}),
            (Numbers{-0.5, 1, -0.25, 2}));
  EXPECT_TRUE(is_refused("%x : f32[1,2,2], %w : f32[3]", "f32[1,2,2]", R"("aten.prelu.default", self=%x, weight=%w)"));
  EXPECT_EQ(run("%x : f32[1,4]", "f32[1,2]", R"("aten.glu.default", self=%x)", {{2, 4, 0, 0}}), (Numbers{1, 2}));
  EXPECT_TRUE(is_refused("%x : f32[3]", "f32[1]", R"("aten.glu.default", self=%x)"));
  EXPECT_TRUE(is_refused("%x : f32[]", "f32[]", R"("aten.glu.default", self=%x)"));
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.softplus.default", self=%x, beta=0)"));
  EXPECT_TRUE(is_refused("%x : f32[2]", "f32[2]", R"("aten.gelu.default", self=%x, approximate="fast")"));
}

}  // namespace
}  // namespace isthmus::unary_ops_test
