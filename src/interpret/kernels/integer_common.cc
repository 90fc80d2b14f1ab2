// Integer kernels that every device has. Those that only move codes or compare codes of one scale are the reference
// kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interpret/quantized_types.h"
#include "interpret/integer_kernel.h"

namespace isthmus {
namespace {

Expected<Tensor> move_codes(const IntegerContext& context) { return run_kernel(context.node.op, context.plain); }
constexpr IntegerKernelRow movement(Op op) { return {.op = op, .kernel = move_codes, .shares = true}; }

// round(x * (1 / scale)) + zero_point, in f32, as ExecuTorch's kernels compute it.
Expected<Tensor> codes_of_reals(const IntegerContext& context) {
  Tensor result = context.plain.result();
  const Quant& quant = context.quant();
  const CodeRange range = code_range(context.plain.dtype);
  const auto most = static_cast<float>(range.max - quant.zero_point);
  const auto least = static_cast<float>(range.min - quant.zero_point);
  const auto in = context.input(0).data<float>();
  with_codes(context.plain.dtype, [&]<class Code>(Code) {
    const auto out = result.mutable_data<Code>();
    const float factor = 1.0f / quant.scale();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const float number = in[i] * factor;
      // NaN becomes the greatest code.
      const float bounded = number < most ? std::max(number, least) : most;
      out[i] = static_cast<Code>(static_cast<std::int32_t>(std::lrint(bounded)) + quant.zero_point);
    }
  });
  return result;
}

Expected<Tensor> reals_of_codes(const IntegerContext& context) {
  Tensor result = context.plain.result();
  const Quant& quant = context.quant(0);
  const auto out = result.mutable_data<float>();
  with_codes(context.input(0).dtype(), [&]<class Code>(Code) {
    const auto in = context.input(0).data<Code>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i] = static_cast<float>(std::int32_t{in[i]} - quant.zero_point) * quant.scale();
    }
  });
  return result;
}

std::optional<std::string> refuse_border(const IntegerSite& site) {
  const TensorType& real = site.type().quant ? site.type(0) : site.type();
  const TensorType& codes = site.type().quant ? site.type() : site.type(0);
  if (site.node.inputs.size() != 1) return "its parameters do not stand in types";
  if (real.dtype != DType::kF32) return fmt::format("{} beside codes", name_of(real.dtype));
  if (codes.quant->axis >= 0) return "several scales";
  return std::nullopt;
}

constexpr IntegerKernelRow kKernels[] = {
    {.op = Op::kQuantize,
     .kernel = codes_of_reals,
     .holds = Holds::kResult,
     .takes_u8 = true,
     .refusal = refuse_border},
    {.op = Op::kDequantize,
     .kernel = reals_of_codes,
     .holds = Holds::kData,
     .takes_u8 = true,
     .refusal = refuse_border},
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
