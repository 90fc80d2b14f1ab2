// Products of matrices of floats, by the widest vectors that the machine has, with the same result by any: each sum is
// kept in double and added up in the order of its terms, and a product of two floats is exact in double, so that it
// makes no difference whether it is fused with the sum.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace isthmus {

// Rows of [rows, depth], put in the order in which the kernel reads them.
class PackedRows {
 public:
  PackedRows(const float* numbers, std::size_t rows, std::size_t depth);

  std::size_t rows() const { return rows_; }
  std::size_t depth() const { return depth_; }
  const double* tile(std::size_t i) const { return numbers_.data() + i * kTile * depth_; }  // [depth, kTile]

  static constexpr std::size_t kTile = 4;

 private:
  std::size_t rows_;
  std::size_t depth_;
  std::vector<double> numbers_;
};

// Writes columns first .. first + count of the other matrix: panel[k * width + i] is number k of column first + i.
using FillPanel = std::function<void(std::size_t first, std::size_t count, std::size_t width, double* panel)>;

// What sums start from; null: 0.
struct SumStarts {
  const float* of_rows = nullptr;
  const float* of_columns = nullptr;
};

// result[row, column] = start + the sum over k of a[row, k] * b[k, column]
void multiply_floats(const PackedRows& a, std::size_t columns, const FillPanel& fill, const SumStarts& starts,
                     float* result);

// Few rows are not worth being packed.
inline bool is_worth_packing(std::size_t rows) { return rows >= PackedRows::kTile; }

}  // namespace isthmus
