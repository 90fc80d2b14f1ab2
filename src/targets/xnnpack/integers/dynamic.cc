// Linear layers of floats with quantized weights: dynamic per-row quantization.
#include <algorithm>
#include <cmath>

#include "targets/xnnpack/integers/product.h"

namespace isthmus::xnnpack {
namespace {

struct RowQuant {
  float scale = 1;
  std::int32_t zero_point = 0;
};

// The range contains 0, and the zero point is the quantized value that loses the least at either end.
RowQuant row_quant(std::span<const float> row) {
  const auto [lowest, highest] = std::ranges::minmax(row);
  const float min = std::min(lowest, 0.0F);
  const float max = std::max(highest, 0.0F);
  const float per_step = min == max ? 1.0F : 255.0F / (max - min);
  const float min_steps = min * per_step;
  const float max_steps = max * per_step;
  const float at_min = -128.0F - min_steps;
  const float at_max = 127.0F - max_steps;
  float zero_point = (-128.0F + min_steps) + (127.0F + max_steps) > 0.0F ? at_min : at_max;
  zero_point = std::clamp(zero_point, -128.0F, 127.0F);
  return {1.0F / per_step, static_cast<std::int32_t>(std::nearbyint(zero_point))};
}

}  // namespace

Expected<Tensor> linear_of_rows(const IntegerContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& weight = context.input(1);
  const Quant& quant = context.quant(1);
  if (input.rank() == 0 || input.dtype() != DType::kF32 || quant.axis > 0) {
    return bad_input("rows of f32 and weights with a scale for each row are expected");
  }
  const auto width = static_cast<std::size_t>(weight.size(1));
  const auto channels = static_cast<std::size_t>(weight.size(0));
  const auto numbers = input.data<float>();
  const auto weights = weight.data<std::int8_t>();
  Tensor result = context.plain.result();
  const auto out = result.mutable_data<float>();
  std::vector<std::int32_t> quantized(width);
  for (std::size_t row = 0; width > 0 && row < numbers.size() / width; ++row) {
    const auto values = numbers.subspan(row * width, width);
    const RowQuant own = row_quant(values);
    const float per_step = 1.0F / own.scale;
    for (std::size_t i = 0; i < width; ++i) {
      const float q = std::nearbyint(values[i] * per_step) + static_cast<float>(own.zero_point);
      quantized[i] = static_cast<std::int32_t>(std::clamp(q, -128.0F, 127.0F)) - own.zero_point;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < width; ++i) sum += std::int64_t{quantized[i]} * weights[c * width + i];
      const float scale = quant.scales[quant.axis < 0 ? 0 : c];
      const float offset = context.has_input(2) ? context.input(2).data<float>()[c] : 0.0F;
      out[row * channels + c] = static_cast<float>(sum) * own.scale * scale + offset;
    }
  }
  return result;
}

}  // namespace isthmus::xnnpack
