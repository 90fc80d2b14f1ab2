// The kernels of dot.h, once for each kind of machine.
#include "targets/tosa/kernels/dot.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "targets/tosa/kernels/dot.cc"  // NOLINT: this very file
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isthmus::tosa {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<std::int32_t>;
constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(std::int32_t);
// A product of 16 by 8 bits has 23 with its sign, two of them 24: this many sums fit 32 bits.
constexpr std::size_t kPairsAtOnce = 127;

std::size_t lane_count() { return hn::Lanes(Wide()); }

// Sums over `pairs` pairs for four rows and two vectors of columns. Stored as [row][column].
#if HWY_TARGET == HWY_SCALAR
void sum_tile(const std::int16_t* HWY_RESTRICT a, std::size_t stride, const std::int16_t* HWY_RESTRICT b,
              std::size_t pairs, std::int32_t* HWY_RESTRICT sums) {
  for (std::size_t row = 0; row < kRowsAtOnce; ++row) {
    for (std::size_t column = 0; column < 2; ++column) {
      std::uint32_t sum = 0;
      for (std::size_t i = 0; i < 2 * pairs; ++i) {
        sum += static_cast<std::uint32_t>(a[row * stride + i] * b[i / 2 * 4 + 2 * column + i % 2]);
      }
      sums[2 * row + column] = static_cast<std::int32_t>(sum);
    }
  }
}
#else
void sum_tile(const std::int16_t* HWY_RESTRICT a, std::size_t stride, const std::int16_t* HWY_RESTRICT b,
              std::size_t pairs, std::int32_t* HWY_RESTRICT sums) {
  const Wide wide;
  const hn::Repartition<std::int16_t, Wide> narrow;
  const std::size_t lanes = hn::Lanes(wide);
  const auto zero = hn::Zero(wide);
  auto s00 = zero, s01 = zero, s10 = zero, s11 = zero, s20 = zero, s21 = zero, s30 = zero, s31 = zero;
  // Some machines sum even and odd products apart.
  auto t00 = zero, t01 = zero, t10 = zero, t11 = zero, t20 = zero, t21 = zero, t30 = zero, t31 = zero;
  const auto pair_of = [&](std::size_t row, std::size_t pair) HWY_ATTR {
    std::int32_t both = 0;
    std::memcpy(&both, a + row * stride + 2 * pair, sizeof(both));
    return hn::BitCast(narrow, hn::Set(wide, both));
  };
  for (std::size_t pair = 0; pair < pairs; ++pair, b += 4 * lanes) {
    const auto left = hn::LoadU(narrow, b);
    const auto right = hn::LoadU(narrow, b + 2 * lanes);
    const auto a0 = pair_of(0, pair);
    s00 = hn::ReorderWidenMulAccumulate(wide, a0, left, s00, t00);
    s01 = hn::ReorderWidenMulAccumulate(wide, a0, right, s01, t01);
    const auto a1 = pair_of(1, pair);
    s10 = hn::ReorderWidenMulAccumulate(wide, a1, left, s10, t10);
    s11 = hn::ReorderWidenMulAccumulate(wide, a1, right, s11, t11);
    const auto a2 = pair_of(2, pair);
    s20 = hn::ReorderWidenMulAccumulate(wide, a2, left, s20, t20);
    s21 = hn::ReorderWidenMulAccumulate(wide, a2, right, s21, t21);
    const auto a3 = pair_of(3, pair);
    s30 = hn::ReorderWidenMulAccumulate(wide, a3, left, s30, t30);
    s31 = hn::ReorderWidenMulAccumulate(wide, a3, right, s31, t31);
  }
  const auto store = [&](auto s, auto t, std::size_t place)
                         HWY_ATTR { hn::StoreU(hn::RearrangeToOddPlusEven(s, t), wide, sums + place * lanes); };
  store(s00, t00, 0);
  store(s01, t01, 1);
  store(s10, t10, 2);
  store(s11, t11, 3);
  store(s20, t20, 4);
  store(s21, t21, 5);
  store(s30, t30, 6);
  store(s31, t31, 7);
}
#endif

void multiply(const LeftRows& left, const PackedShape& shape, const std::int16_t* right, const std::int32_t* bias,
              std::int32_t* out, std::size_t out_stride) {
  const Wide wide;
  const std::size_t lanes = hn::Lanes(wide);
  HWY_ALIGN std::int32_t sums[kRowsAtOnce * 2 * kMaxLanes];
  for (std::size_t panel = 0; panel < shape.panels(); ++panel) {
    const std::int16_t* b = right + panel * shape.pairs() * shape.width * 2;
    const std::size_t first = panel * shape.width;
    const std::size_t columns = std::min(shape.width, shape.columns - first);
    for (std::size_t row = 0; row < left.count; row += kRowsAtOnce) {
      sum_tile(left.data + row * left.stride, left.stride, b, shape.pairs(), sums);
      for (std::size_t r = 0; r < std::min(kRowsAtOnce, left.count - row); ++r) {
        std::int32_t* target = out + (row + r) * out_stride + first;
        std::int32_t* source = sums + r * shape.width;
        for (std::size_t c = 0; c < shape.width; c += lanes) {
          const auto sum = hn::Add(hn::LoadU(wide, source + c), hn::LoadU(wide, bias + first + c));
          if (c + lanes <= columns) {
            hn::StoreU(sum, wide, target + c);
          } else if (c < columns) {
            hn::StoreU(sum, wide, source + c);
            std::copy_n(source + c, columns - c, target + c);
          }
        }
      }
    }
  }
}

void multiply_add(const LeftRows& left, const PackedShape& shape, const std::int16_t* right, std::int64_t* out,
                  std::size_t out_stride) {
  HWY_ALIGN std::int32_t sums[kRowsAtOnce * 2 * kMaxLanes];
  for (std::size_t panel = 0; panel < shape.panels(); ++panel) {
    const std::size_t first = panel * shape.width;
    const std::size_t columns = std::min(shape.width, shape.columns - first);
    for (std::size_t row = 0; row < left.count; row += kRowsAtOnce) {
      for (std::size_t pair = 0; pair < shape.pairs(); pair += kPairsAtOnce) {
        const std::size_t pairs = std::min(kPairsAtOnce, shape.pairs() - pair);
        const std::int16_t* b = right + (panel * shape.pairs() + pair) * shape.width * 2;
        sum_tile(left.data + row * left.stride + 2 * pair, left.stride, b, pairs, sums);
        for (std::size_t r = 0; r < std::min(kRowsAtOnce, left.count - row); ++r) {
          std::int64_t* target = out + (row + r) * out_stride + first;
          for (std::size_t c = 0; c < columns; ++c) target[c] += sums[r * shape.width + c];
        }
      }
    }
  }
}

void widen_i8(const std::int8_t* HWY_RESTRICT from, std::size_t count, std::int32_t zero,
              std::int16_t* HWY_RESTRICT to) {
  const hn::ScalableTag<std::int16_t> tag;
  const hn::Rebind<std::int8_t, decltype(tag)> bytes;
  const std::size_t lanes = hn::Lanes(tag);
  const auto offset = hn::Set(tag, static_cast<std::int16_t>(zero));
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Sub(hn::PromoteTo(tag, hn::LoadU(bytes, from + i)), offset), tag, to + i);
  }
  for (; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero);
}

void depthwise_row(const DepthwiseRow& row, std::int32_t* out) {
  const Wide wide;
  const hn::Rebind<std::int16_t, Wide> narrow;
  const std::size_t lanes = hn::Lanes(wide);
  HWY_ALIGN std::int32_t rest[kMaxLanes];
  const std::int16_t* pixel = row.image;
  for (std::size_t o = 0; o < row.out_count; ++o, pixel += row.step, out += row.out_channels) {
    for (std::size_t c = 0; c < row.channels; c += lanes) {
      auto sum = hn::LoadU(wide, row.bias + c);
      const std::int32_t* weights = row.weights + c;
      for (std::size_t tap = 0; tap < row.tap_count; ++tap, weights += row.channels) {
        const auto x = hn::PromoteTo(wide, hn::LoadU(narrow, pixel + row.taps[tap] + c));
        sum = hn::Add(sum, hn::Mul(x, hn::LoadU(wide, weights)));
      }
      if (c + lanes <= row.out_channels) {
        hn::StoreU(sum, wide, out + c);
      } else if (c < row.out_channels) {
        hn::StoreU(sum, wide, rest);
        std::copy_n(rest, row.out_channels - c, out + c);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isthmus::tosa
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isthmus::tosa {
namespace {
HWY_EXPORT(lane_count);
HWY_EXPORT(multiply);
HWY_EXPORT(multiply_add);
HWY_EXPORT(widen_i8);
HWY_EXPORT(depthwise_row);
}  // namespace

std::size_t depthwise_lanes() { return HWY_DYNAMIC_DISPATCH(lane_count)(); }
std::size_t panel_width() { return 2 * depthwise_lanes(); }

void multiply(const LeftRows& left, const PackedShape& shape, const std::int16_t* right, const std::int32_t* bias,
              std::int32_t* out, std::size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(multiply)(left, shape, right, bias, out, out_stride);
}

void multiply_add(const LeftRows& left, const PackedShape& shape, const std::int16_t* right, std::int64_t* out,
                  std::size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(multiply_add)(left, shape, right, out, out_stride);
}

void widen(const std::int8_t* from, std::size_t count, std::int32_t zero, std::int16_t* to) {
  HWY_DYNAMIC_DISPATCH(widen_i8)(from, count, zero, to);
}
void widen(const std::int16_t* from, std::size_t count, std::int32_t, std::int16_t* to) {
  std::copy_n(from, count, to);
}

void depthwise_row(const DepthwiseRow& row, std::int32_t* out) { HWY_DYNAMIC_DISPATCH(depthwise_row)(row, out); }

}  // namespace isthmus::tosa
#endif
