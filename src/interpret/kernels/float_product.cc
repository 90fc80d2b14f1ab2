// The kernel of float_product.h, once for each kind of machine, and the loops around it.
#include "interpret/kernels/float_product.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interpret/kernels/float_product.cc"  // NOLINT: this very file
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isthmus {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;

// Columns of a panel: two vectors.
std::size_t panel_width() { return 2 * hn::Lanes(Doubles()); }

// Adds to sums [kTile, width] the products of a [depth, kTile] and b [depth, width].
void add_products(const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::size_t depth,
                  double* HWY_RESTRICT sums) {
  const Doubles tag;
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t width = 2 * lanes;
  auto s00 = hn::LoadU(tag, sums), s01 = hn::LoadU(tag, sums + lanes);
  auto s10 = hn::LoadU(tag, sums + width), s11 = hn::LoadU(tag, sums + width + lanes);
  auto s20 = hn::LoadU(tag, sums + 2 * width), s21 = hn::LoadU(tag, sums + 2 * width + lanes);
  auto s30 = hn::LoadU(tag, sums + 3 * width), s31 = hn::LoadU(tag, sums + 3 * width + lanes);
  for (std::size_t k = 0; k < depth; ++k, a += PackedRows::kTile, b += width) {
    const auto left = hn::LoadU(tag, b);
    const auto right = hn::LoadU(tag, b + lanes);
    const auto a0 = hn::Set(tag, a[0]);
    s00 = hn::MulAdd(a0, left, s00);
    s01 = hn::MulAdd(a0, right, s01);
    const auto a1 = hn::Set(tag, a[1]);
    s10 = hn::MulAdd(a1, left, s10);
    s11 = hn::MulAdd(a1, right, s11);
    const auto a2 = hn::Set(tag, a[2]);
    s20 = hn::MulAdd(a2, left, s20);
    s21 = hn::MulAdd(a2, right, s21);
    const auto a3 = hn::Set(tag, a[3]);
    s30 = hn::MulAdd(a3, left, s30);
    s31 = hn::MulAdd(a3, right, s31);
  }
  hn::StoreU(s00, tag, sums), hn::StoreU(s01, tag, sums + lanes);
  hn::StoreU(s10, tag, sums + width), hn::StoreU(s11, tag, sums + width + lanes);
  hn::StoreU(s20, tag, sums + 2 * width), hn::StoreU(s21, tag, sums + 2 * width + lanes);
  hn::StoreU(s30, tag, sums + 3 * width), hn::StoreU(s31, tag, sums + 3 * width + lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace isthmus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isthmus {
namespace {

HWY_EXPORT(panel_width);
HWY_EXPORT(add_products);

}  // namespace

PackedRows::PackedRows(const float* numbers, std::size_t rows, std::size_t depth)
    : rows_(rows), depth_(depth), numbers_((rows + kTile - 1) / kTile * kTile * depth, 0.0) {
  for (std::size_t row = 0; row < rows; ++row) {
    double* to = numbers_.data() + row / kTile * kTile * depth + row % kTile;
    for (std::size_t k = 0; k < depth; ++k) to[k * kTile] = static_cast<double>(numbers[row * depth + k]);
  }
}

void multiply_floats(const PackedRows& a, std::size_t columns, const FillPanel& fill, const SumStarts& starts,
                     float* result) {
  constexpr std::size_t kTile = PackedRows::kTile;
  const std::size_t width = HWY_DYNAMIC_DISPATCH(panel_width)();
  std::vector<double> panel(width * a.depth(), 0.0);
  std::vector<double> sums(kTile * width);
  for (std::size_t first = 0; first < columns; first += width) {
    const std::size_t count = std::min(width, columns - first);
    fill(first, count, width, panel.data());
    for (std::size_t row = 0; row < a.rows(); row += kTile) {
      const std::size_t tall = std::min(kTile, a.rows() - row);
      std::ranges::fill(sums, 0.0);
      for (std::size_t r = 0; r < tall; ++r) {
        for (std::size_t c = 0; c < count; ++c) {
          if (starts.of_rows != nullptr) sums[r * width + c] = static_cast<double>(starts.of_rows[row + r]);
          if (starts.of_columns != nullptr) sums[r * width + c] = static_cast<double>(starts.of_columns[first + c]);
        }
      }
      HWY_DYNAMIC_DISPATCH(add_products)(a.tile(row / kTile), panel.data(), a.depth(), sums.data());
      for (std::size_t r = 0; r < tall; ++r) {
        float* to = result + (row + r) * columns + first;
        for (std::size_t c = 0; c < count; ++c) to[c] = static_cast<float>(sums[r * width + c]);
      }
    }
  }
}

}  // namespace isthmus
#endif
