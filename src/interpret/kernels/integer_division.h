// Division of integers as in C, defined for all dividends; the divisor is not 0.
#pragma once

#include <cstdint>
#include <type_traits>

namespace isthmus {

// The one quotient that does not fit wraps around to its dividend; it would stop an x86 processor.
template <class Number>
Number quotient(Number a, Number b) {
  if constexpr (std::is_signed_v<Number>) {
    if (b == -1) return static_cast<Number>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
  }
  return static_cast<Number>(a / b);
}

// With the sign of the dividend.
template <class Number>
Number rest(Number a, Number b) {
  if constexpr (std::is_signed_v<Number>) {
    if (b == -1) return 0;
  }
  return static_cast<Number>(a % b);
}

}  // namespace isthmus
