// Coordinate descent on a quadratic form.
#include "quantize/improve/round_weights.h"

#include <algorithm>
#include <cmath>

namespace isthmus {

std::vector<double> error_form(const LayerMoments& moments, std::size_t group, std::span<const double> corrected) {
  const std::size_t length = moments.length;
  const std::span<const double> means = std::span(moments.means).subspan(group * length, length);
  const double* products = moments.products.data() + group * length * length;
  std::vector<double> form(length * length);
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      double mean = products[i * length + j];
      if (!corrected.empty()) mean += (means[i] - corrected[i]) * (means[j] - corrected[j]) - means[i] * means[j];
      form[i * length + j] = i == j ? mean : moments.trust * mean;
    }
  }
  return form;
}

void round_together(std::span<const float> weights, double scale, std::span<const double> form, int max,
                    std::span<std::int8_t> quantized) {
  constexpr int kMaxRounds = 16;
  const std::size_t length = weights.size();
  // By weight: half of how fast the power grows with its error, in steps.
  std::vector<double> slope(length, 0);
  for (std::size_t i = 0; i < length; ++i) {
    const double error = quantized[i] - static_cast<double>(weights[i]) / scale;
    const double* row = form.data() + i * length;
    for (std::size_t j = 0; j < length; ++j) slope[j] += error * row[j];
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    bool has_changed = false;
    for (std::size_t i = 0; i < length; ++i) {
      const double* row = form.data() + i * length;
      if (!(row[i] > 0)) continue;
      const double wanted = quantized[i] - std::nearbyint(slope[i] / row[i]);
      const double step = std::clamp<double>(wanted, -max, max) - quantized[i];
      // A step that gains nothing would be taken back in the next round.
      if (step == 0 || !(step * (2 * slope[i] + step * row[i]) < -1e-9 * row[i])) continue;
      quantized[i] = static_cast<std::int8_t>(quantized[i] + step);
      for (std::size_t j = 0; j < length; ++j) slope[j] += step * row[j];
      has_changed = true;
    }
    if (!has_changed) return;
  }
}

}  // namespace isthmus
