// From sums to codes: times a real factor, rounded, plus the zero point, saturated. All that kernels know of rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "exec/integer.h"
#include "exec/integer_constants.h"

namespace isthmus {

// A real factor; each arithmetic has its own idea of the quotient of scales.
struct Factor {
  float rounded = 1;  // by XNNPACK: after each step in f32
  double exact = 1;
};
// What a product of two tensors is multiplied by.
inline Factor product_factor(float a, float b, float result) {
  return {a * b / result, static_cast<double>(a) * static_cast<double>(b) / static_cast<double>(result)};
}
// What a sum of `count` numbers is multiplied by to be their mean.
inline Factor mean_factor(float input, std::int64_t count, float result) {
  return {input / result * (1.0f / static_cast<float>(count)),
          static_cast<double>(input) / (static_cast<double>(count) * static_cast<double>(result))};
}

class Requantizer {
 public:
  // `sum_bits` is 32 or 48: sums that do not fit wrap around. Nothing where the factor has no multiplier.
  static std::optional<Requantizer> make(Arithmetic arithmetic, Factor factor, int sum_bits, DType codes,
                                         std::int32_t zero_point) {
    Requantizer result;
    const CodeRange range = code_range(codes);
    result.zero_point_ = zero_point;
    result.min_ = range.min;
    result.max_ = range.max;
    result.spare_bits_ = 64 - sum_bits;
    result.is_float_ = arithmetic == Arithmetic::kXnnpack;
    result.factor_ = factor.rounded;
    if (result.is_float_) return result;
    const auto multiplier = multiplier_of(factor.exact, sum_bits == 32 ? ScaleBits::k31 : ScaleBits::k15);
    if (!multiplier) return std::nullopt;
    result.multiplier_ = *multiplier;
    return result;
  }

  std::int32_t operator()(std::int64_t sum) const {
    const std::int64_t wrapped =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) << spare_bits_) >> spare_bits_;
    return is_float_ ? in_float(wrapped) : in_integers(wrapped);
  }

 private:
  std::int32_t in_float(std::int64_t sum) const {
    const auto most = static_cast<float>(max_ - zero_point_);
    const auto least = static_cast<float>(min_ - zero_point_);
    const float number = static_cast<float>(sum) * factor_;
    // NaN becomes the greatest code, as it does there.
    const float bounded = number < most ? std::max(number, least) : most;
    return static_cast<std::int32_t>(std::lrint(bounded)) + zero_point_;
  }
  std::int32_t in_integers(std::int64_t sum) const {
    const std::int64_t code = multiplier_.apply(sum) + zero_point_;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(code, min_, max_));
  }

  float factor_ = 1;
  Multiplier multiplier_;
  std::int32_t zero_point_ = 0;
  std::int32_t min_ = 0;
  std::int32_t max_ = 0;
  int spare_bits_ = 32;
  bool is_float_ = false;
};

}  // namespace isthmus
