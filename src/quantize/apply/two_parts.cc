// The second part is what the first one loses.
#include "quantize/apply/two_parts.h"

#include <algorithm>
#include <cmath>

#include "interpret/tensor.h"
#include "quantize/config/grid.h"
#include "stats/measure.h"

namespace isthmus {

std::optional<TwoParts> in_two_parts(const TensorView& table) {
  constexpr double kEnough = 0x1p-16;  // the power of noise over that of the numbers: 48 dB
  constexpr double kParts = 254;       // of a step
  const Tensor data = Tensor::from(table);
  const TensorMoments moments = measure(data.data<float>());
  if (moments.nans + moments.infinities > 0) return std::nullopt;
  const double largest =
      std::max(std::abs(static_cast<double>(moments.min)), std::abs(static_cast<double>(moments.max)));
  const Quant quant{{static_cast<float>(std::max(largest / 127, kMinScale))}, 0, -1};
  const auto scale = static_cast<double>(quant.scale());
  if (scale * scale / 12 * static_cast<double>(moments.count) <= kEnough * moments.sum_of_squares) return std::nullopt;
  std::vector<std::int64_t> sizes = data.sizes();
  const auto length = static_cast<std::size_t>(sizes.back());
  sizes.back() *= 2;
  Tensor quantized(DType::kI8, sizes);
  const std::span<std::int8_t> parts = quantized.mutable_data<std::int8_t>();
  const auto round = [](double steps) { return std::clamp(std::nearbyint(steps), -127.0, 127.0); };
  for (std::size_t i = 0; i < data.data<float>().size(); ++i) {
    const std::size_t at = i / length * 2 * length + i % length;
    const double steps = static_cast<double>(data.data<float>()[i]) / scale;
    parts[at] = static_cast<std::int8_t>(round(steps));
    parts[at + length] = static_cast<std::int8_t>(round((steps - round(steps)) * kParts));
  }
  return TwoParts{quantized.view(), quant, 1 / kParts};
}

}  // namespace isthmus
