// Bins that widen by merging.
#include "stats/histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace isthmus {
namespace {

// The reciprocal of the narrowest width must still be a float.
constexpr int kMinExponent = -100;

std::uint64_t sum(std::span<const std::uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

double HalfHistogram::width() const { return std::ldexp(1.0, exponent_) / static_cast<double>(kBins); }

void HalfHistogram::widen(int exponent) {
  for (; exponent_ < exponent; ++exponent_) {
    for (std::size_t i = 0; i < kBins; ++i) {
      const std::uint64_t pair = i < kBins / 2 ? counts_[2 * i] + counts_[2 * i + 1] : 0;
      counts_[i] = pair;
    }
  }
  per_width_ = static_cast<float>(1 / width());
}

void HalfHistogram::cover(float magnitude) {
  // The least exponent with magnitude < 2^exponent.
  const int wanted = magnitude > 0 ? std::max(std::ilogb(magnitude) + 1, kMinExponent) : kMinExponent;
  if (is_empty()) {
    counts_.assign(kBins, 0);
    exponent_ = wanted;
  }
  if (wanted > exponent_ || per_width_ == 0) widen(std::max(wanted, exponent_));
}

void HalfHistogram::merge(const HalfHistogram& other) {
  if (other.is_empty()) return;
  if (is_empty()) {
    *this = other;
    return;
  }
  HalfHistogram wide = other;
  const int exponent = std::max(exponent_, other.exponent_);
  widen(exponent);
  wide.widen(exponent);
  for (std::size_t i = 0; i < kBins; ++i) counts_[i] += wide.counts_[i];
}

HalfHistogram HalfHistogram::from(int exponent, std::vector<std::uint64_t> counts) {
  CHECK(counts.empty() || counts.size() == kBins, "a histogram of another number of bins");
  HalfHistogram result;
  result.counts_ = std::move(counts);
  result.exponent_ = exponent;
  if (!result.is_empty()) result.widen(exponent);
  return result;
}

void Histogram::add(std::span<const float> numbers, std::size_t stride, float min, float max) {
  if (min < 0) negative.cover(-min);
  if (max > 0) positive.cover(max);
  // Signs cannot be predicted, so there is no branch on them: they choose one of three rows of counters. That of zeros
  // has one counter, and their bin is 0.
  std::uint64_t* const rows[3] = {negative.counters(), positive.counters(), &zeros};
  const float per_width[3] = {negative.per_width(), positive.per_width(), 0};
  for (std::size_t i = 0; i < numbers.size(); i += stride) {
    const float number = numbers[i];
    const auto row = static_cast<std::size_t>(number > 0) + 2 * static_cast<std::size_t>(number == 0);
    ++rows[row][static_cast<std::size_t>(static_cast<std::int32_t>(std::abs(number) * per_width[row]))];
  }
}

void Histogram::merge(const Histogram& other) {
  negative.merge(other.negative);
  positive.merge(other.positive);
  zeros += other.zeros;
}

std::uint64_t Histogram::count() const { return sum(negative.counts()) + zeros + sum(positive.counts()); }

double Histogram::quantile(double share) const {
  const std::uint64_t total = count();
  if (total == 0) return 0;
  // The number with this many others below it.
  auto below = static_cast<std::uint64_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(total - 1) + 0.5);
  for (std::size_t i = negative.counts().size(); i-- > 0;) {
    if (below < negative.counts()[i]) return -(static_cast<double>(i) + 0.5) * negative.width();
    below -= negative.counts()[i];
  }
  if (below < zeros) return 0;
  below -= zeros;
  for (std::size_t i = 0; i < positive.counts().size(); ++i) {
    if (below < positive.counts()[i]) return (static_cast<double>(i) + 0.5) * positive.width();
    below -= positive.counts()[i];
  }
  return 0;
}

}  // namespace isthmus
