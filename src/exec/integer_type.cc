// Integer kernels: real numbers to codes and back, and codes to other codes.
#include <fmt/format.h>

#include <cmath>

#include "exec/integer_codes.h"
#include "exec/integer_kernel.h"
#include "exec/integer_requantize.h"
#include "exec/integer_unary.h"

namespace isthmus {
namespace {

// round(x * (1 / scale)) + zero_point, in f32. Both arithmetics take the border of the device from the host, so it is
// the same for both. Codes may have a scale for each slice of an axis.
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

// XNNPACK: a factor of 8 whole bits and 8 of fraction, halves up; where signs differ, a table.
// TOSA: RESCALE by the ratio of the scales.
Expected<Tensor> rescaled(const IntegerContext& context) {
  const bool is_xnnpack = context.arithmetic == Arithmetic::kXnnpack;
  if (is_xnnpack && context.input(0).dtype() != context.plain.dtype) {
    return map_codes(context, rounded_table(context, [](float x) { return x; }));
  }
  const Quant& from = context.quant(0);
  const Quant& to = context.quant();
  if (is_xnnpack) {
    const FixedFactor factor = fixed_factor(from.scale() / to.scale());
    return map_each_code(context, [&](std::int32_t code) { return factor.apply(code - from.zero_point); });
  }
  const double ratio = static_cast<double>(from.scale()) / static_cast<double>(to.scale());
  const auto multiplier = multiplier_of(ratio, ScaleBits::k31);
  if (!multiplier) return bad_input(fmt::format("a ratio of scales of {}", ratio));
  return map_each_code(context, [&](std::int32_t code) { return multiplier->apply(code - from.zero_point); });
}

std::optional<std::string> refuse_rescale(const IntegerSite& site) {
  if (site.arithmetic == Arithmetic::kXnnpack) {
    if (site.type(0).dtype != site.type().dtype) return std::nullopt;
    return refuse_fixed_factor(site.quant(0).scale() / site.quant().scale());
  }
  const double ratio = static_cast<double>(site.quant(0).scale()) / static_cast<double>(site.quant().scale());
  if (multiplier_of(ratio, ScaleBits::k31)) return std::nullopt;
  return fmt::format("a ratio of scales of {}", ratio);
}

std::optional<std::string> refuse_border(const IntegerSite& site) {
  const TensorType& real = site.type().quant ? site.type(0) : site.type();
  const TensorType& codes = site.type().quant ? site.type() : site.type(0);
  if (site.node.inputs.size() != 1) return "its parameters do not stand in types";
  if (real.dtype != DType::kF32) return fmt::format("{} beside codes", name_of(real.dtype));
  if (codes.quant->axis >= 0) return "several scales";
  return std::nullopt;
}

}  // namespace

std::span<const IntegerKernelDef> integer_type_kernels() {
  static const IntegerKernelDef kKernels[] = {
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
      {.op = Op::kRescale, .kernel = rescaled, .takes_u8 = true, .refusal = refuse_rescale},
  };
  return kKernels;
}

}  // namespace isthmus
