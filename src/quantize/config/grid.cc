// Tries every count of steps up to the number that is farthest from zero.
#include "quantize/config/grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isthmus {
namespace {

// How far the product of a quantized value and a scale may be from what an archive holds, over the product: the scale,
// the product and what was made of both are rounded.
constexpr double kTolerance = 0x1p-22;

bool are_multiples(std::span<const float> numbers, double step) {
  return std::ranges::all_of(numbers, [&](float number) {
    const double product = std::nearbyint(static_cast<double>(number) / step) * step;
    return std::abs(product - static_cast<double>(number)) <= kTolerance * std::abs(product);
  });
}

// Of the steps next to this one, the one that gives the numbers themselves.
float exact(std::span<const float> numbers, float step) {
  constexpr int kNeighbours = 2;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float candidate = step;
  for (int i = 0; i < kNeighbours; ++i) candidate = std::nextafter(candidate, 0.0F);
  const auto wrong = [&](float tried) {
    return std::ranges::count_if(numbers,
                                 [&](float number) { return std::nearbyint(number / tried) * tried != number; });
  };
  float best = step;
  auto min = wrong(step);
  for (int i = -kNeighbours; i <= kNeighbours && min > 0; ++i, candidate = std::nextafter(candidate, kInfinity)) {
    if (const auto count = wrong(candidate); count < min) {
      best = candidate;
      min = count;
    }
  }
  return best;
}

}  // namespace

std::optional<float> grid_of(std::span<const float> numbers, int max) {
  float farthest = 0;
  for (const float number : numbers) farthest = std::max(farthest, std::abs(number));
  if (!(farthest > 0) || !std::isfinite(farthest)) return std::nullopt;
  for (int steps = max; steps > 0; --steps) {
    const auto step = static_cast<double>(farthest) / steps;
    if (!are_multiples(numbers, step)) continue;
    const auto rounded = static_cast<float>(step);
    if (!std::isnormal(rounded)) return std::nullopt;
    return exact(numbers, rounded);
  }
  return std::nullopt;
}

}  // namespace isthmus
