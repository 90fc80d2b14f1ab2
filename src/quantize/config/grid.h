// Scales: the least that is allowed, and the one of numbers that are quantized already.
#pragma once

#include <optional>
#include <span>

namespace isthmus {

// Far above denormal numbers even after a product of two scales.
inline constexpr double kMinScale = 0x1p-60;

// The least number of which all of these are multiples, none more than `most` times as large, save for rounding to
// f32. Quantized by it they lose nothing. Nothing where there is none such, and for nothing but zeros.
std::optional<float> grid_of(std::span<const float> numbers, int max);

}  // namespace isthmus
