// The pass over a tensor, by the widest vectors that the machine has, with the same result by any.
#include "stats/measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stats/measure.cc"  // NOLINT: this very file, once for each kind of machine
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace isthmus {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sums are the same whatever the width of vectors: number i of a run goes to lane i modulo 16, however many vectors
// these lanes take, and lanes are added up one after the other. Products are not fused with sums, since some machines
// cannot do that (CMakeLists.txt keeps the compiler from it).
constexpr std::size_t kLanes = 16;
// They stay in float for this many rows of lanes, then go on in double.
constexpr std::size_t kBlockRows = 128;

using Floats = hn::CappedTag<float, kLanes>;

double sum_of(const float* HWY_RESTRICT lanes) {
  double sum = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(lanes[lane]);
  return sum;
}

// Extremes and sums of numbers that are all finite; false where one is not, and then the rest means nothing. A number
// that is not finite has a square that is not, and so has the sum of squares.
bool measure_finite(const float* HWY_RESTRICT numbers, std::size_t count, TensorMoments& moments) {
  const Floats tag;
  const std::size_t width = hn::Lanes(tag);
  auto low = hn::Set(tag, std::numeric_limits<float>::infinity());
  auto high = hn::Neg(low);
  double sum = 0;
  double squares = 0;
  std::size_t i = 0;
  for (std::size_t left = count / kLanes; left > 0;) {
    const std::size_t rows = std::min(left, kBlockRows);
    HWY_ALIGN float block_sums[kLanes];
    HWY_ALIGN float block_squares[kLanes];
    for (std::size_t lane = 0; lane < kLanes; lane += width) {
      auto lane_sums = hn::Zero(tag);
      auto lane_squares = hn::Zero(tag);
      const float* from = numbers + i + lane;
      for (std::size_t row = 0; row < rows; ++row, from += kLanes) {
        const auto x = hn::LoadU(tag, from);
        low = hn::Min(low, x);
        high = hn::Max(high, x);
        lane_sums = hn::Add(lane_sums, x);
        lane_squares = hn::Add(lane_squares, hn::Mul(x, x));
      }
      hn::Store(lane_sums, tag, block_sums + lane);
      hn::Store(lane_squares, tag, block_squares + lane);
    }
    sum += sum_of(block_sums);
    squares += sum_of(block_squares);
    i += rows * kLanes;
    left -= rows;
  }
  float min = hn::GetLane(hn::MinOfLanes(tag, low));
  float max = hn::GetLane(hn::MaxOfLanes(tag, high));
  for (; i < count; ++i) {
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
  return std::isfinite(squares);
}

// Where the statistics of channels are gathered.
struct ChannelSums {
  float* HWY_RESTRICT min;
  float* HWY_RESTRICT max;
  double* HWY_RESTRICT sum;
  double* HWY_RESTRICT squares;
};

// What one vector of channels has in a block of rows.
template <class Tag>
struct Strip {
  hn::Vec<Tag> low, high, sum, squares;

  Strip(Tag tag, const ChannelSums& to, std::size_t c)
      : low(hn::LoadU(tag, to.min + c)), high(hn::LoadU(tag, to.max + c)), sum(hn::Zero(tag)), squares(hn::Zero(tag)) {}
  HWY_INLINE void add(hn::Vec<Tag> x) {
    low = hn::Min(low, x);
    high = hn::Max(high, x);
    sum = hn::Add(sum, x);
    squares = hn::Add(squares, hn::Mul(x, x));
  }
  HWY_INLINE void store(Tag tag, const ChannelSums& to, std::size_t c) const {
    hn::StoreU(low, tag, to.min + c);
    hn::StoreU(high, tag, to.max + c);
    HWY_ALIGN float of_block[2 * kLanes];
    hn::Store(sum, tag, of_block);
    hn::Store(squares, tag, of_block + kLanes);
    for (std::size_t lane = 0; lane < hn::Lanes(tag); ++lane) {
      to.sum[c + lane] += static_cast<double>(of_block[lane]);
      to.squares[c + lane] += static_cast<double>(of_block[kLanes + lane]);
    }
  }
};

// Channels from `c` on, vector by vector, so that extremes and sums stay in registers: two at a time, since each sum
// waits for the one before. Gives the first channel that is left over.
template <class Tag>
HWY_INLINE std::size_t measure_strips(Tag tag, const float* HWY_RESTRICT numbers, std::size_t rows,
                                      std::size_t channels, std::size_t c, const ChannelSums& to) {
  const std::size_t width = hn::Lanes(tag);
  for (; c + 2 * width <= channels; c += 2 * width) {
    Strip<Tag> first(tag, to, c);
    Strip<Tag> second(tag, to, c + width);
    const float* from = numbers + c;
    for (std::size_t row = 0; row < rows; ++row, from += channels) {
      first.add(hn::LoadU(tag, from));
      second.add(hn::LoadU(tag, from + width));
    }
    first.store(tag, to, c);
    second.store(tag, to, c + width);
  }
  for (; c + width <= channels; c += width) {
    Strip<Tag> strip(tag, to, c);
    const float* from = numbers + c;
    for (std::size_t row = 0; row < rows; ++row, from += channels) strip.add(hn::LoadU(tag, from));
    strip.store(tag, to, c);
  }
  return c;
}

// Rows of channels that lie innermost. Adds to the sums of each channel what float sums of a block of rows give; a
// block is done for all channels while it is in the cache. What is too narrow for wide vectors goes by narrower ones:
// 24 channels are 16 and 8.
void measure_rows(const float* HWY_RESTRICT numbers, std::size_t rows, std::size_t channels, float* HWY_RESTRICT min,
                  float* HWY_RESTRICT max, double* HWY_RESTRICT sum, double* HWY_RESTRICT squares) {
  const ChannelSums to{min, max, sum, squares};
  for (std::size_t row = 0; row < rows; row += kBlockRows) {
    const std::size_t count = std::min(rows - row, kBlockRows);
    const float* block = numbers + row * channels;
    std::size_t c = measure_strips(Floats(), block, count, channels, 0, to);
    c = measure_strips(hn::CappedTag<float, 8>(), block, count, channels, c, to);
    c = measure_strips(hn::CappedTag<float, 4>(), block, count, channels, c, to);
    for (; c < channels; ++c) {
      float block_sum = 0;
      float block_squares = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const float x = block[i * channels + c];
        min[c] = std::min(min[c], x);
        max[c] = std::max(max[c], x);
        block_sum += x;
        block_squares += x * x;
      }
      sum[c] += static_cast<double>(block_sum);
      squares[c] += static_cast<double>(block_squares);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isthmus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isthmus {
namespace {

HWY_EXPORT(measure_finite);
HWY_EXPORT(measure_rows);

void add_number(TensorMoments& moments, float number) {
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

TensorMoments measure_carefully(std::span<const float> numbers) {
  TensorMoments moments;
  for (const float number : numbers) add_number(moments, number);
  return moments;
}

void add_run(TensorMoments& moments, const TensorMoments& run) {
  moments.count += run.count;
  moments.nans += run.nans;
  moments.infinities += run.infinities;
  moments.min = std::min(moments.min, run.min);
  moments.max = std::max(moments.max, run.max);
  moments.sum += run.sum;
  moments.sum_of_squares += run.sum_of_squares;
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

TensorMoments measure(std::span<const float> numbers) {
  TensorMoments moments;
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
    std::vector<double> squares(channels, 0);
    HWY_DYNAMIC_DISPATCH(measure_rows)
    (numbers.data(), outer, channels, result.channels.min.data(), result.channels.max.data(),
     result.channels.sum.data(), squares.data());
    result.moments.sum_of_squares = std::accumulate(squares.begin(), squares.end(), 0.0);
    if (!std::isfinite(result.moments.sum_of_squares)) {
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
      const TensorMoments run = measure(numbers.subspan((o * channels + c) * inner, inner));
      add_run(result.moments, run);
      result.channels.min[c] = std::min(result.channels.min[c], run.min);
      result.channels.max[c] = std::max(result.channels.max[c], run.max);
      result.channels.sum[c] += run.sum;
    }
  }
  return result;
}

}  // namespace isthmus
#endif
