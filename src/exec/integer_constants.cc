// Numbers that follow from scales before anything runs.
#include "exec/integer_constants.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace isthmus {

CodeRange code_range(DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return {std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max()};
    case DType::kU8:
      return {0, std::numeric_limits<std::uint8_t>::max()};
    default:
      CHECK(dtype == DType::kI16, "codes have 8 or 16 bits");
      return {std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()};
  }
}

std::optional<Multiplier> multiplier_of(double factor, ScaleBits bits) {
  if (!std::isfinite(factor) || factor < 0) return std::nullopt;
  const auto digits = static_cast<int>(bits);
  int exponent = 0;
  const double mantissa = std::frexp(factor, &exponent);  // 0, or at least a half
  auto multiplier = static_cast<std::int64_t>(std::nearbyint(std::ldexp(mantissa, digits)));
  if (multiplier == std::int64_t{1} << digits) {
    multiplier /= 2;
    ++exponent;
  }
  int shift = digits - exponent;
  if (shift > 62) {
    multiplier >>= std::min(31, shift - 62);
    shift = 62;
  }
  if (shift < 2) return std::nullopt;
  return Multiplier{static_cast<std::int32_t>(multiplier), shift};
}

}  // namespace isthmus
