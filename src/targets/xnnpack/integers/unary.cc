// Integer kernels: functions of one number, and pads, whose filler is quantized.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/portable_math.h"
#include "interpret/quantized_types.h"
#include "targets/xnnpack/integers/integer_kernels.h"

namespace isthmus::xnnpack {
namespace {

// By quantized value less the minimum of its type.
using Int8Table = std::array<std::int32_t, 256>;

// Evaluated in f32, times the reciprocal of the scale, halves away from zero; NaN becomes 0.
template <class Evaluate>
Int8Table rounded_table(const IntegerContext& context, Evaluate evaluate) {
  Int8Table table;
  const Quant& from = context.quant(0);
  const Quant& to = context.quant();
  const QuantizedRange in = quantized_range(context.input(0).dtype());
  const QuantizedRange out = quantized_range(context.plain.dtype);
  const float inverse = 1.0f / to.scale();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int32_t q = in.min + static_cast<std::int32_t>(i);
    const float x = (static_cast<float>(q) - static_cast<float>(from.zero_point)) * from.scale();
    const float number = static_cast<float>(evaluate(x)) * inverse + static_cast<float>(to.zero_point);
    const float rounded = std::isnan(number) ? 0 : std::round(number);
    table[i] = static_cast<std::int32_t>(std::clamp(rounded, static_cast<float>(out.min), static_cast<float>(out.max)));
  }
  return table;
}

// Each quantized value q becomes steps(q), which fits the type.
template <class Steps>
Tensor map_quantized(const IntegerContext& context, Steps steps) {
  Tensor result = context.plain.result();
  with_quantized_type(context.input(0).dtype(), [&]<class In>(In) {
    with_quantized_type(context.plain.dtype, [&]<class Out>(Out) {
      std::ranges::transform(context.input(0).data<In>(), result.mutable_data<Out>().begin(),
                             [&](In q) { return static_cast<Out>(steps(std::int32_t{q})); });
    });
  });
  return result;
}
Tensor look_up(const IntegerContext& context, const Int8Table& table) {
  const std::int32_t q_min = quantized_range(context.input(0).dtype()).min;
  return map_quantized(context, [&](std::int32_t q) { return table[static_cast<std::uint8_t>(q - q_min)]; });
}

// A factor of 8 whole bits and 8 of fraction.
struct FixedFactor {
  std::int32_t parts = 256;  // of 1/256

  std::int64_t apply(std::int32_t value) const { return (std::int64_t{value} * parts + 128) >> 8; }
};
FixedFactor fixed_factor(float ratio) { return {static_cast<std::int32_t>(std::lrint(256.0f * ratio))}; }
// 2^-8 <= |ratio| <= 2^7, all that the library does not abort at.
std::optional<std::string> refuse_fixed_factor(float ratio) {
  const float size = std::fabs(ratio);
  // The largest negative one has no multiplier of 16 bits.
  if (size >= 0x1p-8f && ratio <= 0x1p7f && ratio >= -0x1.FFFC00p6f) return std::nullopt;
  return fmt::format("a ratio of scales of {}", ratio);
}

// Each quantized value less its zero point by the factor that factor_of(q) chooses.
template <class FactorOf>
Tensor scale_quantized(const IntegerContext& context, FactorOf factor_of) {
  const QuantizedRange range = quantized_range(context.plain.dtype);
  const std::int32_t from_zero = context.quant(0).zero_point;
  const std::int64_t to_zero = context.quant().zero_point;
  return map_quantized(context, [&](std::int32_t q) {
    return std::clamp<std::int64_t>(factor_of(q).apply(q - from_zero) + to_zero, range.min, range.max);
  });
}

// The quantized value of a number, as bounds and pads are turned into quantized values.
std::int32_t quantized_value(double number, const Quant& quant, DType dtype) {
  const QuantizedRange range = quantized_range(dtype);
  const float q = static_cast<float>(number) / quant.scale() + static_cast<float>(quant.zero_point);
  const float bounded = std::fmin(std::fmax(q, static_cast<float>(range.min)), static_cast<float>(range.max));
  return static_cast<std::int32_t>(std::lrint(bounded));
}

// Halves up; where signs differ, a table.
Expected<Tensor> rescale_quantized(const IntegerContext& context) {
  if (context.input(0).dtype() != context.plain.dtype) {
    return look_up(context, rounded_table(context, [](float x) { return x; }));
  }
  const FixedFactor factor = fixed_factor(context.quant(0).scale() / context.quant().scale());
  return scale_quantized(context, [&](std::int32_t) { return factor; });
}
std::optional<std::string> refuse_rescale(const IntegerSite& site) {
  if (site.type(0).dtype != site.type().dtype) return std::nullopt;
  return refuse_fixed_factor(site.quant(0).scale() / site.quant().scale());
}

// Two factors, by sign.
Expected<Tensor> leaky_relu_quantized(const IntegerContext& context) {
  const std::int32_t zero_point = context.quant(0).zero_point;
  const float ratio = context.quant(0).scale() / context.quant().scale();
  const FixedFactor positive = fixed_factor(ratio);
  const FixedFactor negative = fixed_factor(ratio * static_cast<float>(context.as<SlopeAttrs>().slope));
  return scale_quantized(context, [&](std::int32_t q) { return q > zero_point ? positive : negative; });
}
std::optional<std::string> refuse_quantized_leaky_relu(const IntegerSite& site) {
  const float ratio = site.quant(0).scale() / site.quant().scale();
  if (auto reason = refuse_fixed_factor(ratio)) return reason;
  return refuse_fixed_factor(ratio * static_cast<float>(site.as<SlopeAttrs>().slope));
}

// With equal parameters quantized values are compared with quantized values, else there is a table.
Expected<Tensor> clamp_quantized(const IntegerContext& context) {
  const auto& attrs = context.as<ClampAttrs>();
  if (context.quant(0) != context.quant() || context.input(0).dtype() != context.plain.dtype) {
    const auto min = static_cast<float>(attrs.min);
    const auto max = static_cast<float>(attrs.max);
    return look_up(context, rounded_table(context, [&](float x) { return std::min(std::max(x, min), max); }));
  }
  const std::int32_t min = quantized_value(attrs.min, context.quant(), context.plain.dtype);
  const std::int32_t max = quantized_value(attrs.max, context.quant(), context.plain.dtype);
  return map_quantized(context, [&](std::int32_t q) { return std::min(std::max(q, min), max); });
}

Expected<Tensor> pad_quantized(const IntegerContext& context) {
  PadAttrs pad = context.as<PadAttrs>();
  pad.value = quantized_value(pad.value, context.quant(), context.plain.dtype);
  const Attrs attrs = pad;
  return run_kernel(context.node.op, {context.plain.inputs, attrs, context.plain.dtype, context.plain.sizes});
}

// The library's reference evaluators, in the precision in which each of them computes.
using Evaluator = double (*)(float x, const Attrs& attrs);
struct EvaluatorRow {
  Op op;
  Evaluator evaluate;
  IntegerRefusal refusal = nullptr;
};
// A float that is a double until it is rounded to a float again, which changes nothing.
double exact(float x) { return static_cast<double>(x); }

double sigmoid_of(float x, const Attrs&) {
  if (x > 100) return 1;
  if (x < -100) return 0;
  const double power = portable::exp(exact(x));
  return power / (1 + power);
}
double gelu_of(float x, const Attrs&) { return exact(x / 2) * (1 + portable::erf(exact(x) * std::sqrt(2.0) / 2)); }
double hardswish_of(float x, const Attrs&) { return exact((x / 6) * std::max(std::min(x + 3, 6.0f), 0.0f)); }
double elu_of(float x, const Attrs& attrs) {
  const auto alpha = static_cast<float>(std::get<EluAttrs>(attrs).alpha);
  return exact(x < 0 ? alpha * portable::expm1(x) : x);
}

std::optional<std::string> refuse_elu_table(const IntegerSite& site) {
  const auto& attrs = site.as<EluAttrs>();
  if (attrs.scale == 1 && attrs.input_scale == 1) return std::nullopt;
  return "elu with scales";
}
std::optional<std::string> refuse_gelu_table(const IntegerSite& site) {
  if (!site.as<GeluAttrs>().tanh) return std::nullopt;
  return "gelu by tanh";
}

constexpr EvaluatorRow kEvaluators[] = {
    {Op::kNeg, [](float x, const Attrs&) { return exact(-x); }},
    {Op::kAbs, [](float x, const Attrs&) { return exact(std::abs(x)); }},
    {Op::kExp, [](float x, const Attrs&) { return exact(portable::exp(x)); }},
    {Op::kLog, [](float x, const Attrs&) { return exact(portable::log(x)); }},
    {Op::kSqrt, [](float x, const Attrs&) { return exact(std::sqrt(x)); }},
    {Op::kRsqrt, [](float x, const Attrs&) { return exact(1 / std::sqrt(x)); }},
    {Op::kSin, [](float x, const Attrs&) { return exact(portable::sin(x)); }},
    {Op::kCos, [](float x, const Attrs&) { return exact(portable::cos(x)); }},
    {Op::kFloor, [](float x, const Attrs&) { return exact(std::floor(x)); }},
    {Op::kCeil, [](float x, const Attrs&) { return exact(std::ceil(x)); }},
    {Op::kTanh, [](float x, const Attrs&) { return exact(portable::tanh(x)); }},
    {Op::kSigmoid, sigmoid_of},
    {Op::kGelu, gelu_of, refuse_gelu_table},
    {Op::kHardswish, hardswish_of},
    {Op::kElu, elu_of, refuse_elu_table},
};

Expected<Tensor> by_table(const IntegerContext& context) {
  const auto row = std::ranges::find(kEvaluators, context.node.op, &EvaluatorRow::op);
  return look_up(context, rounded_table(context, [&](float x) { return row->evaluate(x, context.plain.attrs); }));
}

}  // namespace

std::span<const IntegerKernelRow> integer_unary_kernels() {
  static const std::vector<IntegerKernelRow> kKernels = [] {
    std::vector<IntegerKernelRow> all{
        {.op = Op::kRescale, .kernel = rescale_quantized, .takes_u8 = true, .refusal = refuse_rescale},
        {.op = Op::kClamp, .kernel = clamp_quantized},
        {.op = Op::kLeakyRelu, .kernel = leaky_relu_quantized, .refusal = refuse_quantized_leaky_relu},
        {.op = Op::kPad, .kernel = pad_quantized, .shares = true},
    };
    for (const EvaluatorRow& row : kEvaluators) {
      all.push_back({.op = row.op, .kernel = by_table, .refusal = row.refusal});
    }
    return all;
  }();
  return kKernels;
}

const IntegerKernels& integer_kernels() {
  static const IntegerKernels kTable(IntegerKernels::Widths::k8,
                                     {common_integer_kernels(), integer_unary_kernels(), integer_binary_kernels(),
                                      integer_product_kernels(), integer_reduce_kernels(), integer_image_kernels()});
  return kTable;
}

}  // namespace isthmus::xnnpack
