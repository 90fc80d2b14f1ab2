// The pass over a tensor, by the widest vectors that the machine has.
#include "stats/measure.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stats/measure.cc"  // NOLINT: this very file, once for each kind of machine
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isthmus {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums stay in float for so many vectors, then go on in double.
constexpr std::size_t kBlockVectors = 128;

// Extremes and sums of numbers that are all finite; false where one is not, and then the rest means nothing.
bool measure_finite(const float* HWY_RESTRICT numbers, std::size_t count, Moments& moments) {
  const hn::ScalableTag<float> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto infinity = hn::Set(tag, std::numeric_limits<float>::infinity());
  auto least = infinity;
  auto greatest = hn::Neg(infinity);
  auto all_finite = hn::Eq(infinity, infinity);
  double sum = 0;
  double squares = 0;
  std::size_t i = 0;
  while (i + lanes <= count) {
    const std::size_t end = std::min(i + kBlockVectors * lanes, i + (count - i) / lanes * lanes);
    auto block_sum = hn::Zero(tag);
    auto block_squares = hn::Zero(tag);
    for (; i < end; i += lanes) {
      const auto x = hn::LoadU(tag, numbers + i);
      least = hn::Min(least, x);
      greatest = hn::Max(greatest, x);
      all_finite = hn::And(all_finite, hn::Lt(hn::Abs(x), infinity));
      block_sum = hn::Add(block_sum, x);
      block_squares = hn::MulAdd(x, x, block_squares);
    }
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, block_sum)));
    squares += static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, block_squares)));
  }
  bool is_finite = hn::AllTrue(tag, all_finite);
  float min = hn::GetLane(hn::MinOfLanes(tag, least));
  float max = hn::GetLane(hn::MaxOfLanes(tag, greatest));
  for (; i < count; ++i) {
    is_finite = is_finite && std::isfinite(numbers[i]);
    min = std::min(min, numbers[i]);
    max = std::max(max, numbers[i]);
    sum += static_cast<double>(numbers[i]);
    squares += static_cast<double>(numbers[i]) * static_cast<double>(numbers[i]);
  }
  moments.count = count;
  moments.min = min;
  moments.max = max;
  moments.sum = sum;
  moments.sum_of_squares = squares;
  return is_finite && std::isfinite(squares);
}

// Rows of channels that lie innermost. Adds to `sum` what float sums of a block of rows give.
bool measure_rows(const float* HWY_RESTRICT numbers, std::size_t rows, std::size_t channels, float* HWY_RESTRICT min,
                  float* HWY_RESTRICT max, double* HWY_RESTRICT sum, double& squares) {
  const hn::ScalableTag<float> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const auto infinity = hn::Set(tag, std::numeric_limits<float>::infinity());
  auto all_finite = hn::Eq(infinity, infinity);
  bool is_finite = true;
  // A strip of channels at a time, so that its extremes and sums stay in registers.
  std::size_t c = 0;
  for (; c + lanes <= channels; c += lanes) {
    auto least = hn::LoadU(tag, min + c);
    auto greatest = hn::LoadU(tag, max + c);
    for (std::size_t row = 0; row < rows;) {
      const std::size_t end = std::min(rows, row + kBlockVectors);
      auto block_sum = hn::Zero(tag);
      auto block_squares = hn::Zero(tag);
      for (; row < end; ++row) {
        const auto x = hn::LoadU(tag, numbers + row * channels + c);
        least = hn::Min(least, x);
        greatest = hn::Max(greatest, x);
        all_finite = hn::And(all_finite, hn::Lt(hn::Abs(x), infinity));
        block_sum = hn::Add(block_sum, x);
        block_squares = hn::MulAdd(x, x, block_squares);
      }
      HWY_ALIGN float sums[HWY_MAX_BYTES / sizeof(float)];
      hn::Store(block_sum, tag, sums);
      for (std::size_t lane = 0; lane < lanes; ++lane) sum[c + lane] += static_cast<double>(sums[lane]);
      squares += static_cast<double>(hn::GetLane(hn::SumOfLanes(tag, block_squares)));
    }
    hn::StoreU(least, tag, min + c);
    hn::StoreU(greatest, tag, max + c);
  }
  for (; c < channels; ++c) {
    for (std::size_t row = 0; row < rows; ++row) {
      const float x = numbers[row * channels + c];
      is_finite = is_finite && std::isfinite(x);
      min[c] = std::min(min[c], x);
      max[c] = std::max(max[c], x);
      sum[c] += static_cast<double>(x);
      squares += static_cast<double>(x) * static_cast<double>(x);
    }
  }
  return is_finite && hn::AllTrue(tag, all_finite) && std::isfinite(squares);
}

}  // namespace HWY_NAMESPACE
}  // namespace isthmus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isthmus {
namespace {

HWY_EXPORT(measure_finite);
HWY_EXPORT(measure_rows);

void add_number(Moments& moments, float number) {
  if (std::isnan(number)) {
    ++moments.nans;
  } else if (std::isinf(number)) {
    ++moments.infinities;
  } else {
    ++moments.count;
    moments.min = std::min(moments.min, number);
    moments.max = std::max(moments.max, number);
    moments.sum += static_cast<double>(number);
    moments.sum_of_squares += static_cast<double>(number) * static_cast<double>(number);
  }
}

Moments measure_carefully(std::span<const float> numbers) {
  Moments moments;
  for (const float number : numbers) add_number(moments, number);
  return moments;
}

ChannelMeasure empty_measure(std::size_t channels) {
  ChannelMeasure result;
  result.channels.min.assign(channels, std::numeric_limits<float>::infinity());
  result.channels.max.assign(channels, -std::numeric_limits<float>::infinity());
  result.channels.sum.assign(channels, 0);
  return result;
}

ChannelMeasure measure_channels_carefully(std::span<const float> numbers, std::size_t outer, std::size_t channels,
                                          std::size_t inner) {
  ChannelMeasure result = empty_measure(channels);
  for (std::size_t o = 0, i = 0; o < outer; ++o) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t k = 0; k < inner; ++k, ++i) {
        add_number(result.moments, numbers[i]);
        if (!std::isfinite(numbers[i])) continue;
        result.channels.min[c] = std::min(result.channels.min[c], numbers[i]);
        result.channels.max[c] = std::max(result.channels.max[c], numbers[i]);
        result.channels.sum[c] += static_cast<double>(numbers[i]);
      }
    }
  }
  result.channels.count = outer * inner;
  return result;
}

}  // namespace

Moments measure(std::span<const float> numbers) {
  Moments moments;
  if (!numbers.empty() && !HWY_DYNAMIC_DISPATCH(measure_finite)(numbers.data(), numbers.size(), moments)) {
    return measure_carefully(numbers);
  }
  return moments;
}

ChannelMeasure measure_channels(std::span<const float> numbers, std::size_t outer, std::size_t channels,
                                std::size_t inner) {
  ChannelMeasure result = empty_measure(channels);
  result.channels.count = outer * inner;
  if (inner == 1) {
    if (!HWY_DYNAMIC_DISPATCH(measure_rows)(numbers.data(), outer, channels, result.channels.min.data(),
                                            result.channels.max.data(), result.channels.sum.data(),
                                            result.moments.sum_of_squares)) {
      return measure_channels_carefully(numbers, outer, channels, inner);
    }
    result.moments.count = numbers.size();
    for (std::size_t c = 0; c < channels; ++c) {
      result.moments.min = std::min(result.moments.min, result.channels.min[c]);
      result.moments.max = std::max(result.moments.max, result.channels.max[c]);
      result.moments.sum += result.channels.sum[c];
    }
    return result;
  }
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t c = 0; c < channels; ++c) {
      const Moments run = measure(numbers.subspan((o * channels + c) * inner, inner));
      result.moments.merge(run);
      result.channels.min[c] = std::min(result.channels.min[c], run.min);
      result.channels.max[c] = std::max(result.channels.max[c], run.max);
      result.channels.sum[c] += run.sum;
    }
  }
  return result;
}

}  // namespace isthmus
#endif
