// A sum that does not depend on the order of its terms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace isthmus {

// A fixed-point number that is wide enough for any sum of floats, of their squares and of their products: no bit of a
// term is ever rounded away, so that terms may come in any order and sums of sums in any grouping, and give the same
// bits.
class ExactSum {
 public:
  static constexpr std::size_t kLimbs = 10;
  using Limbs = std::array<std::uint64_t, kLimbs>;  // two's complement, the lowest first

  ExactSum() = default;
  explicit ExactSum(double number) { add(number); }
  static ExactSum from(const Limbs& limbs);

  // A finite number. What it has below 2^-304 is dropped, and its magnitude is limited to 2^301; sums and products of
  // floats have neither.
  void add(double number);
  void add(const ExactSum& other);

  double value() const;  // the nearest double
  const Limbs& limbs() const { return limbs_; }

  bool operator==(const ExactSum&) const = default;

 private:
  Limbs limbs_{};
};

}  // namespace isthmus
