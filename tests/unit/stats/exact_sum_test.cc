// Sums without rounding: any order, any grouping, the nearest double.
#include "stats/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace isthmus::exact_sum_test {
namespace {

double sum_of(const std::vector<double>& numbers) {
  ExactSum sum;
  for (const double number : numbers) sum.add(number);
  return sum.value();
}

TEST(ExactSum, OneNumberComesBack) {
  const double tiny = static_cast<double>(std::numeric_limits<float>::denorm_min());
  const double huge = static_cast<double>(std::numeric_limits<float>::max());
  for (const double number : {0.0, 1.0, 0.1, 1.0 / 3, tiny, tiny * tiny, huge, huge * huge, 0x1p300}) {
    EXPECT_EQ(ExactSum(number).value(), number);
    EXPECT_EQ(ExactSum(-number).value(), -number);
  }
}

TEST(ExactSum, NothingIsLostBesideLargeNumbers) {
  EXPECT_EQ(sum_of({0x1p250, 1, -0x1p250}), 1);
  EXPECT_EQ(sum_of({1, 0x1p-298, -1}), 0x1p-298);
  EXPECT_EQ(sum_of({-0x1p250, 0x1p-200, 0x1p250, -0x1p-200}), 0);
  EXPECT_EQ(sum_of({-1, -2, -3, 4}), -2);
}

TEST(ExactSum, RoundsToNearestDoubleTiesToEven) {
  EXPECT_EQ(sum_of({0x1p53, 1}), 0x1p53);
  EXPECT_EQ(sum_of({0x1p53, 3}), 0x1p53 + 4);
  EXPECT_EQ(sum_of({0x1p53, 1, 0x1p-290}), 0x1p53 + 2);
  EXPECT_EQ(sum_of({-0x1p53, -1, -0x1p-290}), -0x1p53 - 2);
  EXPECT_EQ(sum_of({0x1p64, -1}), 0x1p64);
}

TEST(ExactSum, WhatIsBeyondFloatsIsLimited) {
  EXPECT_EQ(ExactSum(0x1p-400).value(), 0);
  EXPECT_EQ(ExactSum(0x1p-1060).value(), 0);
  EXPECT_NEAR(ExactSum(0x1p1000).value(), 0x1p301, 0x1p249);
  EXPECT_LT(ExactSum(-std::numeric_limits<double>::infinity()).value(), -0x1p300);
}

TEST(ExactSum, OrderAndGroupingDoNotMatter) {
  std::mt19937_64 random(5);
  std::uniform_int_distribution<int> exponent(-280, 280);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 20; ++round) {
    std::vector<double> numbers(200);
    for (double& number : numbers) number = std::ldexp(normal(random), exponent(random));
    ExactSum in_order;
    for (const double number : numbers) in_order.add(number);
    std::ranges::shuffle(numbers, random);
    std::vector<ExactSum> groups(1 + random() % 17);
    for (const double number : numbers) groups[random() % groups.size()].add(number);
    while (groups.size() > 1) {
      std::ranges::shuffle(groups, random);
      const ExactSum last = groups.back();
      groups.pop_back();
      groups[random() % groups.size()].add(last);
    }
    EXPECT_EQ(groups[0], in_order);
  }
}

}  // namespace
}  // namespace isthmus::exact_sum_test
