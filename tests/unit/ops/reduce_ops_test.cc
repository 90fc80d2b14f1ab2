// Reductions and what runs along an axis: one form for all spellings, and the corners of the kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/calls.h"

namespace isthmus::test::reduce_ops_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::NanSensitiveFloatEq;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::string_view kX = "input %x : f32[2,3,4]";

TEST(ReduceOps, SpellingsOfOneReduction) {
  const std::string sum = canonical(kX, R"(%y = foreign("aten.sum.default", self=%x) : f32[])");
  EXPECT_EQ(sum, canonical(kX, R"(%y = foreign("aten.sum.dim_IntList", self=%x, dim=[2,0,-2]) : f32[])"));
  EXPECT_EQ(sum, canonical(kX, R"(%y = foreign("aten.sum.dim_IntList", self=%x, dim=[]) : f32[])"));
  EXPECT_EQ(sum, canonical(kX, R"(%y = foreign("aten.sum.dim_IntList", self=%x, dim=none, dtype=f32) : f32[])"));
  EXPECT_THAT(sum, HasSubstr("sum(%0) axes=[0,1,2] : f32[]"));
  EXPECT_EQ(canonical(kX, R"(%y = foreign("aten.max.default", self=%x) : f32[])"),
            canonical(kX, R"(%y = foreign("aten.amax.default", self=%x) : f32[])"));
  EXPECT_EQ(canonical(kX, "%y, %i = foreign(\"aten.max.dim\", self=%x, dim=-1) : f32[2,3], i64[2,3]"),
            canonical(kX, R"(%y = foreign("aten.amax.default", self=%x, dim=[2]) : f32[2,3])"));
  EXPECT_EQ(canonical(kX, R"(%y = foreign("aten.var.default", self=%x, unbiased=false) : f32[])"),
            canonical(kX, R"(%y = foreign("aten.var.correction", self=%x, correction=0) : f32[])"));
  EXPECT_EQ(canonical(kX, R"(%y = foreign("aten.norm.ScalarOpt_dim", self=%x, p=2, dim=[1]) : f32[2,4])"),
            canonical(kX, R"(%y = foreign("aten.linalg_vector_norm.default", self=%x, dim=[1]) : f32[2,4])"));
  EXPECT_EQ(
      canonical(kX, R"(%y = foreign("aten._softmax.default", self=%x, dim=-1, half_to_float=false) : f32[2,3,4])"),
      canonical(kX, R"(%y = foreign("aten.softmax.int", self=%x, dim=2) : f32[2,3,4])"));
}

TEST(ReduceOps, SymbolicSizesStay) {
  EXPECT_THAT(canonical("symbol s0 in [1,8] ~3\ninput %x : f32[s0,4]",
                        R"(%y = foreign("aten.mean.dim", self=%x, dim=[1], keepdim=true) : f32[s0,1])"),
              HasSubstr("mean(%0) axes=[1] keepdim=true : f32[s0,1]"));
  EXPECT_THAT(canonical("symbol s0 in [1,8] ~3\ninput %x : f32[s0,4]",
                        "%y, %i = foreign(\"aten.median.dim\", self=%x, dim=0) : f32[4], i64[4]"),
              HasSubstr("floordiv(s0+1,2)-1"));
}

TEST(ReduceOps, IntegersAndBoolsAreSummedAsI64) {
  const auto sum = computed("input %x : bool[3]", R"(%y = foreign("aten.sum.default", self=%x) : i64[])",
                            {tensor<std::uint8_t>({3}, {1, 0, 1}, DType::kBool)});
  EXPECT_THAT(numbers<std::int64_t>(sum[0]), ElementsAre(2));
  const auto wrapped = computed("input %x : i8[2]", R"(%y = foreign("aten.sum.default", self=%x, dtype=i8) : i8[])",
                                {tensor<std::int8_t>({2}, {100, 100})});
  EXPECT_THAT(numbers<std::int8_t>(wrapped[0]), ElementsAre(-56));
}

TEST(ReduceOps, NothingToReduce) {
  const Tensor nothing(DType::kF32, {0, 2});
  EXPECT_THAT(
      numbers<float>(computed("input %x : f32[0,2]",
                              R"(%y = foreign("aten.sum.dim_IntList", self=%x, dim=[0]) : f32[2])", {nothing})[0]),
      ElementsAre(0, 0));
  EXPECT_THAT(numbers<float>(computed("input %x : f32[0,2]",
                                      R"(%y = foreign("aten.prod.dim_int", self=%x, dim=0) : f32[2])", {nothing})[0]),
              ElementsAre(1, 1));
  EXPECT_THAT(numbers<float>(computed("input %x : f32[0,2]",
                                      R"(%y = foreign("aten.mean.dim", self=%x, dim=[0]) : f32[2])", {nothing})[0]),
              ElementsAre(NanSensitiveFloatEq(kNan), NanSensitiveFloatEq(kNan)));
  EXPECT_THAT(canonical("input %x : f32[0,2]", R"(%y = foreign("aten.amax.default", self=%x, dim=[0]) : f32[2])"),
              HasSubstr("of an empty tensor"));
  EXPECT_THAT(numbers<float>(computed("input %x : f32[]", R"(%y = foreign("aten.softmax.int", self=%x, dim=0) : f32[])",
                                      {floats({}, {3})})[0]),
              ElementsAre(1));
  EXPECT_THAT(numbers<std::int64_t>(computed(
                  "input %x : f32[]", R"(%y = foreign("aten.argmax.default", self=%x) : i64[])", {floats({}, {3})})[0]),
              ElementsAre(0));
}

TEST(ReduceOps, NanWinsAndTheFirstOfEqualsIsTaken) {
  const auto extremes = computed("input %x : f32[3,3]",
                                 "%y, %i = foreign(\"aten.max.dim\", self=%x, dim=1) : f32[3], i64[3]\n"
                                 "%z, %j = foreign(\"aten.min.dim\", self=%x, dim=1) : f32[3], i64[3]",
                                 {floats({3, 3}, {1, kNan, 2, 5, 5, 1, -1, -1, -2})}, "%y, %i, %z, %j");
  EXPECT_THAT(numbers<float>(extremes[0]), ElementsAre(NanSensitiveFloatEq(kNan), 5, -1));
  EXPECT_THAT(numbers<std::int64_t>(extremes[1]), ElementsAre(1, 0, 0));
  EXPECT_THAT(numbers<float>(extremes[2]), ElementsAre(NanSensitiveFloatEq(kNan), 1, -2));
  EXPECT_THAT(numbers<std::int64_t>(extremes[3]), ElementsAre(1, 2, 2));
}

TEST(ReduceOps, SortingIsStableWithNanLast) {
  const auto sorted = computed("input %x : f32[5]",
                               "%y, %i = foreign(\"aten.sort.default\", self=%x) : f32[5], i64[5]\n"
                               "%z, %j = foreign(\"aten.sort.default\", self=%x, descending=true) : f32[5], i64[5]",
                               {floats({5}, {2, kNan, 1, 2, -kInfinity})}, "%i, %j");
  EXPECT_THAT(numbers<std::int64_t>(sorted[0]), ElementsAre(4, 2, 0, 3, 1));
  EXPECT_THAT(numbers<std::int64_t>(sorted[1]), ElementsAre(1, 0, 3, 2, 4));
  const auto top =
      computed("input %x : f32[5]", "%y, %i = foreign(\"aten.topk.default\", self=%x, k=2) : f32[2], i64[2]",
               {floats({5}, {2, 9, 1, 3, -4})}, "%y, %i");
  EXPECT_THAT(numbers<float>(top[0]), ElementsAre(9, 3));
  EXPECT_THAT(numbers<std::int64_t>(top[1]), ElementsAre(1, 3));
}

TEST(ReduceOps, MediansAreTheLowerOfTwo) {
  const auto medians = computed("input %x : f32[3,4]",
                                "%y, %i = foreign(\"aten.median.dim\", self=%x, dim=1) : f32[3], i64[3]\n"
                                "%z, %j = foreign(\"aten.nanmedian.dim\", self=%x, dim=1) : f32[3], i64[3]",
                                {floats({3, 4}, {4, 1, 3, 2, kNan, 1, 3, 2, kNan, kNan, kNan, kNan})}, "%y, %i, %z");
  EXPECT_THAT(numbers<float>(medians[0]), ElementsAre(2, NanSensitiveFloatEq(kNan), NanSensitiveFloatEq(kNan)));
  EXPECT_THAT(numbers<std::int64_t>(medians[1]), ElementsAre(3, 0, 0));
  EXPECT_THAT(numbers<float>(medians[2]), ElementsAre(2, 2, NanSensitiveFloatEq(kNan)));
}

TEST(ReduceOps, QuantilesLieBetweenNumbers) {
  const auto quantile = [](const std::string& more) {
    return numbers<float>(computed("input %x : f32[4]",
                                   "%y = foreign(\"aten.quantile.scalar\", self=%x, " + more + ") : f32[]",
                                   {floats({4}, {40, 10, 30, 20})})[0]);
  };
  EXPECT_THAT(quantile("q=0.5"), ElementsAre(25));
  EXPECT_THAT(quantile("q=0.25, dim=0"), ElementsAre(17.5F));
  EXPECT_THAT(quantile("q=0.9, interpolation=\"lower\""), ElementsAre(30));
  EXPECT_THAT(quantile("q=0.5, interpolation=\"nearest\""), ElementsAre(30));
  EXPECT_THAT(quantile("q=1.0"), ElementsAre(40));
}

TEST(ReduceOps, WeightsOfKeptLength) {
  const auto weight = computed("input %v : f32[2,2]\ninput %g : f32[2,1]",
                               R"(%y = foreign("aten._weight_norm.default", v=%v, g=%g) : f32[2,2])",
                               {floats({2, 2}, {3, 4, 0, 2}), floats({2, 1}, {10, 1})});
  EXPECT_THAT(numbers<float>(weight[0]), ElementsAre(6, 8, 0, 1));
}

TEST(ReduceOps, InfinitiesInSums) {
  const auto result =
      computed("input %x : f32[3,2]", R"(%y = foreign("aten.logsumexp.default", self=%x, dim=[1]) : f32[3])",
               {floats({3, 2}, {-kInfinity, -kInfinity, kInfinity, 0, 1000, 1000})});
  EXPECT_THAT(numbers<float>(result[0]), ElementsAre(-kInfinity, kInfinity, FloatNear(1000.6931F, 1e-3F)));
  const auto rows = computed("input %x : f32[2,2]", R"(%y = foreign("aten.softmax.int", self=%x, dim=1) : f32[2,2])",
                             {floats({2, 2}, {-kInfinity, -kInfinity, -kInfinity, 0})});
  EXPECT_THAT(numbers<float>(rows[0]), ElementsAre(NanSensitiveFloatEq(kNan), NanSensitiveFloatEq(kNan), 0, 1));
}

TEST(ReduceOps, HostileArgumentsAreRefused) {
  EXPECT_THAT(canonical(kX, R"(%y = foreign("aten.sum.dim_IntList", self=%x, dim=[3]) : f32[2,3])"),
              HasSubstr("axis 3"));
  EXPECT_THAT(canonical(kX, R"(%y = foreign("aten.sum.dim_IntList", self=%x, dim=[1,-2]) : f32[2,4])"),
              HasSubstr("twice"));
  EXPECT_THAT(canonical(kX, R"(%y = foreign("aten.argmax.default", self=%x, dim=-9223372036854775808) : i64[2,3])"),
              HasSubstr("axis"));
  EXPECT_THAT(canonical(kX, "%y, %i = foreign(\"aten.topk.default\", self=%x, k=5) : f32[2,3,5], i64[2,3,5]"),
              HasSubstr("5 of 4"));
  EXPECT_THAT(
      canonical(kX,
                "%y, %i = foreign(\"aten.kthvalue.default\", self=%x, k=-9223372036854775808) : f32[2,3], i64[2,3]"),
      HasSubstr("error"));
  EXPECT_THAT(canonical("input %x : c64[2]", R"(%y = foreign("aten.sum.default", self=%x) : c64[])"),
              HasSubstr("foreign"));
}

}  // namespace
}  // namespace isthmus::test::reduce_ops_test
