// Factors of scales as integers.
#include "targets/ethos_u/forms/constants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "interpret/quantized_types.h"
#include "ir/quantized.h"

namespace isthmus::ethos_u {

std::int32_t quantized_value(double number, const Quant& quant, DType dtype) {
  const QuantizedRange range = quantized_range(dtype);
  const double q = nearest_quantized(number, quant);
  if (std::isnan(q)) return quant.zero_point;
  return static_cast<std::int32_t>(std::clamp(q, static_cast<double>(range.min), static_cast<double>(range.max)));
}

double exponent_of(std::int64_t q, const Quant& quant) {
  const auto scale = static_cast<double>(quant.scale());
  const double exponent = static_cast<double>(q - quant.zero_point) * scale;
  const double whole = std::nearbyint(exponent);
  return std::abs(exponent - whole) <= scale / 2 ? whole : exponent;
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

std::optional<CommonScale> common_scale(double a, double b, DType quantized) {
  const int bits = a == b ? 0 : quantized == DType::kI16 ? 14 : 19;
  const double unit = std::ldexp(std::max(a, b), -bits);
  const auto left = multiplier_of(a / unit, ScaleBits::k31);
  const auto right = multiplier_of(b / unit, ScaleBits::k31);
  if (!left || !right) return std::nullopt;
  return CommonScale{*left, *right, unit};
}

std::optional<ResizeAxis> resize_axis(const ResizeAttrs& attrs, std::size_t axis, std::int64_t from, std::int64_t to) {
  if (attrs.mode == ResizeMode::kCubic) return std::nullopt;
  const bool joins_corners = attrs.mode == ResizeMode::kLinear && attrs.align_corners;
  const double ratio = static_cast<double>(to) / static_cast<double>(from);
  if (!joins_corners && !attrs.scales.empty() && attrs.scales[axis] != ratio) return std::nullopt;
  std::int64_t n = joins_corners && to > 1 ? to - 1 : to;
  std::int64_t d = joins_corners && to > 1 ? from - 1 : from;
  // One pixel for all: it comes as often as there are places.
  if (d == 0) n = d = 1;
  const std::int64_t common = std::gcd(n, d);
  // Doubled, so that halves of a pixel are whole numbers.
  n = 2 * (n / common);
  d = 2 * (d / common);
  // TOSA takes the nearest pixel and PyTorch's oldest mode the one before: half a pixel further up. By whole factors
  // both are the pixel whose middle is nearest, the form that compilers know.
  const bool takes_before = attrs.mode == ResizeMode::kNearest && d != 2;
  const std::int64_t offset = joins_corners ? 0 : takes_before ? -n / 2 : d / 2 - n / 2;
  return ResizeAxis{n, d, offset, d * (to - 1) - n * (from - 1) + offset};
}

}  // namespace isthmus::ethos_u
