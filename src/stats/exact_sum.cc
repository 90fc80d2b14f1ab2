// Numbers of 640 bits.
#include "stats/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace isthmus {
namespace {

constexpr int kLimbBits = 64;
// The lowest bit stands for 2^-304: less than the square of the least float, 2^-298.
constexpr int kFractionBits = 304;
constexpr int kMantissaBits = std::numeric_limits<double>::digits;
// Of the lowest bit of the largest term, which leaves 2^33 of them far from the sign.
constexpr int kMaxPlace = 301 + kFractionBits - kMantissaBits;

// True where one is carried to the next limb, or borrowed from it.
bool add_to(std::uint64_t& limb, std::uint64_t number) {
  limb += number;
  return limb < number;
}
bool subtract_from(std::uint64_t& limb, std::uint64_t number) {
  const bool borrows = limb < number;
  limb -= number;
  return borrows;
}

// A number of two limbs, of which the upper one has room for one more.
template <bool (*kStep)(std::uint64_t&, std::uint64_t)>
void deposit(ExactSum::Limbs& limbs, std::size_t at, std::uint64_t low, std::uint64_t high) {
  bool carries = kStep(limbs[at], low);
  carries = kStep(limbs[++at], high + (carries ? 1 : 0));
  while (carries && ++at < limbs.size()) carries = kStep(limbs[at], 1);
}

}  // namespace

ExactSum ExactSum::from(const Limbs& limbs) {
  ExactSum sum;
  sum.limbs_ = limbs;
  return sum;
}

void ExactSum::add(double number) {
  constexpr int kStoredBits = kMantissaBits - 1;
  constexpr std::uint64_t kHidden = std::uint64_t{1} << kStoredBits;
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const auto exponent = static_cast<int>((bits >> kStoredBits) & 0x7FF);
  if (exponent == 0) return;  // zero, or far below the lowest bit
  std::uint64_t mantissa = (bits & (kHidden - 1)) | kHidden;
  int place = exponent - (1023 + kStoredBits) + kFractionBits;
  if (place < 0) {
    mantissa = place > -kMantissaBits ? mantissa >> -place : 0;
    place = 0;
  } else if (place > kMaxPlace) {
    mantissa = 2 * kHidden - 1;
    place = kMaxPlace;
  }
  const auto at = static_cast<std::size_t>(place / kLimbBits);
  const int shift = place % kLimbBits;
  const std::uint64_t low = mantissa << shift;
  const std::uint64_t high = shift > kLimbBits - kMantissaBits ? mantissa >> (kLimbBits - shift) : 0;
  if ((bits >> (kLimbBits - 1)) == 0) {
    deposit<add_to>(limbs_, at, low, high);
  } else {
    deposit<subtract_from>(limbs_, at, low, high);
  }
}

void ExactSum::add(const ExactSum& other) {
  bool carries = false;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    const bool first = add_to(limbs_[i], carries ? 1 : 0);
    carries = add_to(limbs_[i], other.limbs_[i]) || first;
  }
}

double ExactSum::value() const {
  const bool is_negative = (limbs_.back() >> (kLimbBits - 1)) != 0;
  Limbs magnitude = limbs_;
  if (is_negative) {
    bool carries = true;
    for (std::uint64_t& limb : magnitude) carries = add_to(limb = ~limb, carries ? 1 : 0);
  }
  std::size_t top = kLimbs;
  while (top > 0 && magnitude[top - 1] == 0) --top;
  if (top-- == 0) return 0;
  // The highest 64 bits; one below them that is set makes the lowest of them so, which decides how half is rounded.
  const int zeros = std::countl_zero(magnitude[top]);
  std::uint64_t window = magnitude[top] << zeros;
  bool has_rest = false;
  if (top > 0) {
    if (zeros > 0) window |= magnitude[top - 1] >> (kLimbBits - zeros);
    has_rest = (magnitude[top - 1] << zeros) != 0;
    has_rest = has_rest || std::any_of(magnitude.begin(), magnitude.begin() + static_cast<std::ptrdiff_t>(top) - 1,
                                       [](std::uint64_t limb) { return limb != 0; });
  }
  window |= has_rest ? 1 : 0;
  const double nearest =
      std::ldexp(static_cast<double>(window), static_cast<int>(top) * kLimbBits - zeros - kFractionBits);
  return is_negative ? -nearest : nearest;
}

}  // namespace isthmus
