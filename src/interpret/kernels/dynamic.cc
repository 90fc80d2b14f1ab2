// Reference kernels: parameters that are chosen as the model runs, step by step as PyTorch chooses them.
#include <algorithm>
#include <cmath>

#include "interpret/kernel.h"

namespace isthmus {
namespace {

struct Parameters {
  float scale = 1;
  std::int64_t zero_point = 0;
};

// Of what is not a number, and of what no quantized value is near: zero.
std::int64_t nearest(float number) {
  constexpr float kFar = 0x1p40F;
  return std::abs(number) < kFar ? static_cast<std::int64_t>(std::nearbyint(number)) : 0;
}

// Of the whole range, whose first number has the first quantized value.
Parameters of_tensor(float min, float max, const DynamicAttrs& attrs) {
  const float scale = std::max((max - min) / static_cast<float>(attrs.max - attrs.min), static_cast<float>(attrs.eps));
  return {scale, std::clamp(attrs.min - nearest(min / scale), attrs.min, attrs.max)};
}

// Around the quantized value of zero.
Parameters of_tensor_symmetric(float min, float max, const DynamicAttrs& attrs) {
  const float half = static_cast<float>(attrs.max - attrs.min) / 2;
  return {std::max(std::max(-min, max) / half, static_cast<float>(attrs.eps)), attrs.dtype == DType::kU8 ? 128 : 0};
}

// As of_tensor, but the zero point comes from the end at which it loses less.
Parameters of_row(float min, float max, const DynamicAttrs& attrs) {
  const auto first = static_cast<float>(attrs.min);
  const auto last = static_cast<float>(attrs.max);
  const float scale = std::max((max - min) / (last - first), static_cast<float>(attrs.eps));
  const float min_steps = min / scale;
  const float max_steps = max / scale;
  const bool from_min = (first + min_steps) + (last + max_steps) > 0;
  const float zero_point = std::clamp(from_min ? first - min_steps : last - max_steps, first, last);
  return {scale, nearest(zero_point)};
}

Parameters of_row_symmetric(float min, float max, const DynamicAttrs& attrs) {
  const auto last = static_cast<float>(attrs.max);
  const auto smallest = static_cast<float>(attrs.eps * static_cast<double>(attrs.max));
  return {std::max(std::max(-min, max), smallest) / last, 0};
}

// How one choice is made, and whether the quantized values of its numbers are computed in f64, as PyTorch does with a
// tensor of such scales.
struct Row {
  ScaleChoice choice;
  bool has_rows = false;
  bool is_wide = false;
  Parameters (*choose)(float min, float max, const DynamicAttrs& attrs);
};
constexpr Row kRows[] = {
    {.choice = ScaleChoice::kTensor, .choose = of_tensor},
    {.choice = ScaleChoice::kTensorSymmetric, .choose = of_tensor_symmetric},
    {.choice = ScaleChoice::kRows, .has_rows = true, .is_wide = true, .choose = of_row},
    {.choice = ScaleChoice::kRowsSymmetric, .has_rows = true, .choose = of_row_symmetric},
};
const Row& row_of(const DynamicAttrs& attrs) { return *std::ranges::find(kRows, attrs.choice, &Row::choice); }

// Elements that share parameters.
std::size_t length_of(const Tensor& input, const Row& row) {
  return static_cast<std::size_t>(row.has_rows ? input.size(input.rank() - 1) : input.count());
}

template <class Number>
Parameters parameters_of(std::span<const Number> numbers, const DynamicAttrs& attrs) {
  const auto [min, max] = std::ranges::minmax(numbers);
  return row_of(attrs).choose(std::min(static_cast<float>(min), 0.0F), std::max(static_cast<float>(max), 0.0F), attrs);
}

template <class Use>
void each_part(const Tensor& input, const DynamicAttrs& attrs, const Use& use) {
  const std::size_t length = length_of(input, row_of(attrs));
  dispatch_float(input.dtype(), [&]<class Number>(Number) {
    const auto numbers = input.data<Number>();
    for (std::size_t begin = 0; length > 0 && begin < numbers.size(); begin += length) {
      use(begin, numbers.subspan(begin, length));
    }
  });
}

Expected<Tensor> choose_scale(const KernelContext& context) {
  const auto& attrs = context.as<DynamicAttrs>();
  Tensor result = context.result();
  const auto out = result.mutable_data<double>();
  std::size_t next = 0;
  each_part(context.inputs[0], attrs,
            [&](std::size_t, auto numbers) { out[next++] = static_cast<double>(parameters_of(numbers, attrs).scale); });
  return result;
}

Expected<Tensor> choose_zero_point(const KernelContext& context) {
  const auto& attrs = context.as<DynamicAttrs>();
  Tensor result = context.result();
  const auto out = result.mutable_data<std::int64_t>();
  std::size_t next = 0;
  each_part(context.inputs[0], attrs,
            [&](std::size_t, auto numbers) { out[next++] = parameters_of(numbers, attrs).zero_point; });
  return result;
}

// Rows are rounded with their zero point, tensors before it is added: halves go to the even quantized value of either.
template <class Compute, class Number>
void round_to_quantized(std::span<const Number> in, std::span<Number> out, const DynamicAttrs& attrs) {
  const Parameters parameters = parameters_of(in, attrs);
  const bool has_rows = row_of(attrs).has_rows;
  const auto factor = static_cast<Compute>(1.0 / static_cast<double>(parameters.scale));
  const auto zero_point = static_cast<Compute>(parameters.zero_point);
  const auto min = static_cast<Compute>(attrs.min);
  const auto max = static_cast<Compute>(attrs.max);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Compute steps = static_cast<Compute>(in[i]) * factor;
    const Compute q = has_rows ? std::nearbyint(steps + zero_point) : std::nearbyint(steps) + zero_point;
    const Compute bounded = std::isnan(q) ? Compute{0} : std::clamp(q, min, max);
    out[i] = static_cast<Number>((bounded - zero_point) * static_cast<Compute>(parameters.scale));
  }
}

Expected<Tensor> dynamic_quantize(const KernelContext& context) {
  const auto& attrs = context.as<DynamicAttrs>();
  Tensor result = context.result();
  each_part(context.inputs[0], attrs, [&]<class Number>(std::size_t begin, std::span<const Number> in) {
    const auto out = result.mutable_data<Number>().subspan(begin, in.size());
    if (row_of(attrs).is_wide) {
      round_to_quantized<double, Number>(in, out, attrs);
    } else {
      round_to_quantized<float, Number>(in, out, attrs);
    }
  });
  return result;
}

constexpr KernelDef kDynamicKernels[] = {
    {Op::kChooseScale, choose_scale},
    {Op::kChooseZeroPoint, choose_zero_point},
    {Op::kDynamicQuantize, dynamic_quantize},
};

}  // namespace

std::span<const KernelDef> dynamic_kernels() { return kDynamicKernels; }

}  // namespace isthmus
