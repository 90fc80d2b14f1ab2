// Running extremes and sums, integrals, cross products, powers of matrices, unpooling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/calls.h"

namespace isthmus::test::scan_ops_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::NanSensitiveFloatEq;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ScanOps, RunningExtremesTakeTheLastOfEquals) {
  const Tensor x = floats({5}, {1, 3, 2, 3, -1});
  const auto max =
      computed("input %x : f32[5]", R"(%y, %i = foreign("aten.cummax.default", self=%x, dim=0) : f32[5], i64[5])", {x},
               "%y, %i");
  EXPECT_THAT(numbers<float>(max[0]), ElementsAre(1, 3, 3, 3, 3));
  EXPECT_THAT(numbers<std::int64_t>(max[1]), ElementsAre(0, 1, 1, 3, 3));
  const auto min =
      computed("input %x : f32[5]", R"(%y, %i = foreign("aten.cummin.default", self=%x, dim=-1) : f32[5], i64[5])", {x},
               "%y, %i");
  EXPECT_THAT(numbers<float>(min[0]), ElementsAre(1, 1, 1, 1, -1));
  EXPECT_THAT(numbers<std::int64_t>(min[1]), ElementsAre(0, 0, 0, 0, 4));
}

TEST(ScanOps, ANanIsTheExtremeFromItsPlaceOn) {
  const auto found =
      computed("input %x : f32[4]", R"(%y, %i = foreign("aten.cummax.default", self=%x, dim=0) : f32[4], i64[4])",
               {floats({4}, {1, kNan, 5, kNan})}, "%y, %i");
  EXPECT_THAT(numbers<float>(found[0]),
              ElementsAre(1, NanSensitiveFloatEq(kNan), NanSensitiveFloatEq(kNan), NanSensitiveFloatEq(kNan)));
  EXPECT_THAT(numbers<std::int64_t>(found[1]), ElementsAre(0, 1, 1, 3));
}

TEST(ScanOps, RunningSumsOfExponentials) {
  // Far apart: a difference to the largest of all would lose the first ones.
  const auto found =
      computed("input %x : f32[2,3]", R"(%y = foreign("aten.logcumsumexp.default", self=%x, dim=1) : f32[2,3])",
               {floats({2, 3}, {-500, 0, 500, 0, 0, -kInfinity})});
  EXPECT_THAT(numbers<float>(found[0]),
              ElementsAre(-500, 0, 500, 0, FloatNear(std::log(2.0F), 1e-6F), FloatNear(std::log(2.0F), 1e-6F)));
}

TEST(ScanOps, Trapezoids) {
  const Tensor y = floats({2, 3}, {1, 2, 4, 0, 2, 0});
  const auto plain =
      computed("input %y : f32[2,3]", R"(%z = foreign("aten.trapezoid.dx", y=%y, dx=2.0) : f32[2])", {y}, "%z");
  EXPECT_THAT(numbers<float>(plain[0]), ElementsAre(9, 4));
  const auto places =
      computed("input %y : f32[2,3]\n  input %x : f32[3]", R"(%z = foreign("aten.trapezoid.x", y=%y, x=%x) : f32[2])",
               {y, floats({3}, {0, 1, 4})}, "%z");
  EXPECT_THAT(numbers<float>(places[0]), ElementsAre(10.5F, 4));
  const auto running = computed("input %y : f32[2,3]",
                                R"(%z = foreign("aten.cumulative_trapezoid.dx", y=%y, dim=0) : f32[1,3])", {y}, "%z");
  EXPECT_THAT(numbers<float>(running[0]), ElementsAre(0.5F, 2, 2));
}

TEST(ScanOps, CrossProducts) {
  const auto found = computed("input %x : f32[2,3]\n  input %z : f32[2,3]",
                              R"(%y = foreign("aten.linalg_cross.default", self=%x, other=%z) : f32[2,3])",
                              {floats({2, 3}, {1, 0, 0, 1, 2, 3}), floats({2, 3}, {0, 1, 0, 4, 5, 6})});
  EXPECT_THAT(numbers<float>(found[0]), ElementsAre(0, 0, 1, -3, 6, -3));
  // The older name takes the first axis of three.
  const auto columns =
      computed("input %x : f32[3,3]\n  input %z : f32[3,3]",
               R"(%y = foreign("aten.cross.default", self=%x, other=%z) : f32[3,3])",
               {floats({3, 3}, {1, 1, 0, 0, 2, 0, 0, 3, 0}), floats({3, 3}, {0, 4, 0, 1, 5, 0, 0, 6, 0})});
  EXPECT_THAT(numbers<float>(columns[0]), ElementsAre(0, -3, 0, 0, 6, 0, 1, -3, 0));
  EXPECT_THAT(canonical("input %x : f32[2,4]\n  input %z : f32[2,4]",
                        R"(%y = foreign("aten.linalg_cross.default", self=%x, other=%z) : f32[2,4])"),
              HasSubstr("three"));
}

TEST(ScanOps, PowersOfMatrices) {
  const auto found =
      computed("input %x : f32[2,2]", R"(%y = foreign("aten.matrix_power.default", self=%x, n=5) : f32[2,2])",
               {floats({2, 2}, {1, 1, 0, 2})});
  EXPECT_THAT(numbers<float>(found[0]), ElementsAre(1, 31, 0, 32));
  EXPECT_THAT(
      canonical("input %x : f32[2,2]", R"(%y = foreign("aten.linalg_matrix_power.default", self=%x, n=-1) : f32[2,2])"),
      HasSubstr("inverse"));
}

TEST(ScanOps, Unpooling) {
  const auto found =
      computed("input %x : f32[1,1,1,2]\n  input %i : i64[1,1,1,2]",
               R"(%y = foreign("aten.max_unpool2d.default", self=%x, indices=%i, output_size=[2,4]) : f32[1,1,2,4])",
               {floats({1, 1, 1, 2}, {7, 9}), tensor<std::int64_t>({1, 1, 1, 2}, {5, 2})});
  EXPECT_THAT(numbers<float>(found[0]), ElementsAre(0, 0, 9, 0, 0, 7, 0, 0));
}

}  // namespace
}  // namespace isthmus::test::scan_ops_test
