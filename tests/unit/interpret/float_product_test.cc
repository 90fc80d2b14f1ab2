// Products of floats are plain sums in double, one term after the other, to the last bit and by any kind of vectors.
#include "interpret/kernels/float_product.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <random>
#include <vector>

namespace isthmus::float_product_test {
namespace {

struct Sizes {
  std::size_t rows, depth, columns;
};

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.2F, 2);
  std::vector<float> numbers(count);
  std::ranges::generate(numbers, [&] { return normal(random); });
  return numbers;
}

class FloatProduct : public testing::TestWithParam<Sizes> {
 protected:
  ~FloatProduct() override { choose(0); }
  static void choose(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
};

TEST_P(FloatProduct, IsThePlainSumByEveryKindOfVectors) {
  const auto [rows, depth, columns] = GetParam();
  const std::vector<float> a = drawn(rows * depth, 1);
  const std::vector<float> b = drawn(depth * columns, 2);
  const std::vector<float> of_rows = drawn(rows, 3);
  const std::vector<float> of_columns = drawn(columns, 4);
  const auto fill = [&](std::size_t first, std::size_t count, std::size_t width, double* panel) {
    for (std::size_t k = 0; k < depth; ++k) std::copy_n(b.data() + k * columns + first, count, panel + k * width);
  };
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (const SumStarts& starts :
       {SumStarts{}, SumStarts{.of_rows = of_rows.data()}, SumStarts{.of_columns = of_columns.data()}}) {
    std::vector<float> wanted(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        if (starts.of_rows != nullptr) sum = static_cast<double>(of_rows[i]);
        if (starts.of_columns != nullptr) sum = static_cast<double>(of_columns[j]);
        for (std::size_t k = 0; k < depth; ++k) {
          sum += static_cast<double>(a[i * depth + k]) * static_cast<double>(b[k * columns + j]);
        }
        wanted[i * columns + j] = static_cast<float>(sum);
      }
    }
    for (const std::int64_t target : targets) {
      choose(target);
      std::vector<float> found(rows * columns);
      multiply_floats(PackedRows(a.data(), rows, depth), columns, fill, starts, found.data());
      EXPECT_EQ(found, wanted) << hwy::TargetName(target);
    }
    choose(0);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FloatProduct,
                         testing::Values(Sizes{1, 1, 1}, Sizes{4, 7, 16}, Sizes{5, 100, 33}, Sizes{9, 64, 15},
                                         Sizes{3, 0, 5}, Sizes{16, 577, 40}));

}  // namespace
}  // namespace isthmus::float_product_test
