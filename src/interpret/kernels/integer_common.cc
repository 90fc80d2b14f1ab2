// Integer kernels that every device has. Those that only move quantized values or compare quantized values of one scale
// are the reference kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpret/integer_kernel.h"
#include "interpret/quantized_types.h"

namespace isthmus {
namespace {

Expected<Tensor> move_quantized(const IntegerContext& context) { return run_kernel(context.node.op, context.plain); }
constexpr IntegerKernelRow movement(Op op) { return {.op = op, .kernel = move_quantized, .shares = true}; }

// round(x * (1 / scale)) + zero_point, in f32, as ExecuTorch's kernels compute it.
Expected<Tensor> quantized_values_of(const IntegerContext& context) {
  Tensor result = context.plain.result();
  const Quant& quant = context.quant();
  const QuantizedRange range = quantized_range(context.plain.dtype);
  const auto max = static_cast<float>(range.max - quant.zero_point);
  const auto min = static_cast<float>(range.min - quant.zero_point);
  const auto in = context.input(0).data<float>();
  with_quantized_type(context.plain.dtype, [&]<class Int>(Int) {
    const auto out = result.mutable_data<Int>();
    const float factor = 1.0f / quant.scale();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float number = in[i] * factor;
      // NaN becomes the greatest quantized value.
      const float bounded = number < max ? std::max(number, min) : max;
      out[i] = static_cast<Int>(static_cast<std::int32_t>(std::lrint(bounded)) + quant.zero_point);
    }
  });
  return result;
}

Expected<Tensor> dequantized_values(const IntegerContext& context) {
  Tensor result = context.plain.result();
  const Quant& quant = context.quant(0);
  const auto out = result.mutable_data<float>();
  with_quantized_type(context.input(0).dtype(), [&]<class Int>(Int) {
    const auto in = context.input(0).data<Int>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<float>(std::int32_t{in[i]} - quant.zero_point) * quant.scale();
    }
  });
  return result;
}

std::optional<std::string> refuse_io(const IntegerSite& site) {
  const TensorType& real = site.type().quant ? site.type(0) : site.type();
  const TensorType& quantized = site.type().quant ? site.type() : site.type(0);
  if (site.node.inputs.size() != 1) return "its parameters do not stand in types";
  if (real.dtype != DType::kF32) return fmt::format("{} beside quantized values", name_of(real.dtype));
  if (quantized.quant->axis >= 0) return "several scales";
  return std::nullopt;
}

constexpr IntegerKernelRow kKernels[] = {
    {.op = Op::kQuantize,
     .kernel = quantized_values_of,
     .holds = Holds::kResult,
     .takes_u8 = true,
     .refusal = refuse_io},
    {.op = Op::kDequantize,
     .kernel = dequantized_values,
     .holds = Holds::kData,
     .takes_u8 = true,
     .refusal = refuse_io},
    movement(Op::kReshape),
    movement(Op::kPermute),
    movement(Op::kExpand),
    movement(Op::kSlice),
    movement(Op::kFlip),
    movement(Op::kIndexSelect),
    movement(Op::kGather),
    movement(Op::kCat),
    movement(Op::kWhere),
    movement(Op::kMaxPool2d),
    movement(Op::kAmax),
    movement(Op::kAmin),
};

}  // namespace

std::span<const IntegerKernelRow> common_integer_kernels() { return kKernels; }

}  // namespace isthmus
