// How often numbers of each size occurred: exact counts in bins that widen when larger numbers come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace isthmus {

// Numbers of one sign by magnitude: bins of equal width from 0 to 2^exponent. When a larger number comes, neighbouring
// bins merge two by two until it fits: since widths are powers of two, counts are the same as if the final width had
// been known from the start. So histograms merge exactly, in any order.
class HalfHistogram {
 public:
  static constexpr std::size_t kBins = 2048;

  bool is_empty() const { return counts_.empty(); }
  int exponent() const { return exponent_; }
  double width() const;                                              // of a bin
  std::span<const std::uint64_t> counts() const { return counts_; }  // empty, or kBins of them

  // Makes room for magnitudes up to this one, which is finite and not negative.
  void cover(float magnitude);
  // Where magnitudes that have been covered are counted: at the magnitude times `per_width`, rounded down.
  std::uint64_t* counters() { return counts_.data(); }
  float per_width() const { return per_width_; }  // one over the width of a bin
  void merge(const HalfHistogram& other);

  // As read from a file; counts must be empty or kBins of them.
  static HalfHistogram from(int exponent, std::vector<std::uint64_t> counts);

  bool operator==(const HalfHistogram&) const = default;

 private:
  void widen(int exponent);

  std::vector<std::uint64_t> counts_;
  int exponent_ = 0;
  float per_width_ = 0;
};

// Both signs. Zeros are counted apart: they are exact in any quantization.
struct Histogram {
  HalfHistogram negative;
  HalfHistogram positive;
  std::uint64_t zeros = 0;

  // Counts every `stride`-th number. The caller must see to it that all of these are finite and lie in [min, max]: bins
  // are made for that interval, and numbers are not checked against it.
  void add(std::span<const float> numbers, std::size_t stride, float min, float max);
  void merge(const Histogram& other);
  std::uint64_t count() const;
  // The number below which this share of the numbers lies: the middle of its bin. Of an empty histogram 0.
  double quantile(double share) const;

  bool operator==(const Histogram&) const = default;
};

}  // namespace isthmus
