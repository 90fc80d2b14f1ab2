// Integer kernels: functions of one number.
#include "exec/integer_unary.h"

#include <fmt/format.h>

#include <cmath>

#include "base/portable_math.h"

namespace isthmus {

Tensor map_codes(const IntegerContext& context, const CodeTable& table) {
  Tensor result = context.plain.result();
  const std::int32_t least = code_range(context.input(0).dtype()).min;
  with_codes(context.input(0).dtype(), [&]<class In>(In) {
    with_codes(context.plain.dtype, [&]<class Out>(Out) {
      const auto in = context.input(0).data<In>();
      const auto out = result.mutable_data<Out>();
      for (std::size_t i = 0; i < in.size(); ++i) {
        out[i] = static_cast<Out>(table[static_cast<std::uint8_t>(std::int32_t{in[i]} - least)]);
      }
    });
  });
  return result;
}

std::optional<std::string> refuse_fixed_factor(float ratio) {
  const float size = std::fabs(ratio);
  // The largest negative one has no multiplier of 16 bits.
  if (size >= 0x1p-8f && ratio <= 0x1p7f && ratio >= -0x1.FFFC00p6f) return std::nullopt;
  return fmt::format("a ratio of scales of {}", ratio);
}

std::int32_t code_of(Arithmetic arithmetic, double number, const Quant& quant, DType dtype) {
  const CodeRange range = code_range(dtype);
  if (arithmetic == Arithmetic::kXnnpack) {
    const float code = static_cast<float>(number) / quant.scale() + static_cast<float>(quant.zero_point);
    const float bounded = std::fmin(std::fmax(code, static_cast<float>(range.min)), static_cast<float>(range.max));
    return static_cast<std::int32_t>(std::lrint(bounded));
  }
  const double code = std::nearbyint(number / static_cast<double>(quant.scale())) + quant.zero_point;
  if (std::isnan(code)) return quant.zero_point;
  return static_cast<std::int32_t>(std::clamp(code, static_cast<double>(range.min), static_cast<double>(range.max)));
}

namespace {

// XNNPACK's reference evaluators, in the precision in which each of them computes.
using Evaluator = double (*)(float x, const Attrs& attrs);
struct EvaluatorRow {
  Op op;
  Evaluator evaluate = nullptr;  // null: XNNPACK has no table of it
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
  if (site.arithmetic == Arithmetic::kTosa || (attrs.scale == 1 && attrs.input_scale == 1)) return std::nullopt;
  return "elu with scales";
}
std::optional<std::string> refuse_gelu_table(const IntegerSite& site) {
  if (site.arithmetic == Arithmetic::kTosa || !site.as<GeluAttrs>().tanh) return std::nullopt;
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
    {Op::kSign},
    {Op::kExp2},
    {Op::kExpm1},
    {Op::kLog2},
    {Op::kLog10},
    {Op::kLog1p},
    {Op::kReciprocal},
    {Op::kTan},
    {Op::kAsin},
    {Op::kAcos},
    {Op::kAtan},
    {Op::kSinh},
    {Op::kCosh},
    {Op::kAsinh},
    {Op::kAcosh},
    {Op::kAtanh},
    {Op::kErf},
    {Op::kErfc},
    {Op::kRound},
    {Op::kTrunc},
    {Op::kSilu},
    {Op::kHardsigmoid},
    {Op::kMish},
    {Op::kLogSigmoid},
    {Op::kSoftplus},
    {Op::kHardshrink},
    {Op::kSoftshrink},
    {Op::kNanToNum},
};

// TOSA: TABLE, between RESCALEs where one of the types has 16 bits.
Expected<Tensor> by_function_table(const IntegerContext& context, std::optional<double> other = std::nullopt) {
  const TensorType& from = context.type(0);
  const FunctionTable table = TRY(function_table(context.node.op, context.plain.attrs, from, context.type(), other));
  const std::int32_t zero_point = context.quant().zero_point;
  if (from.dtype == DType::kI16) {
    return map_each_code(context, [&](std::int32_t code) { return table.result.apply(table.wide(code)); });
  }
  if (context.plain.dtype == DType::kI16) {
    return map_each_code(context, [&](std::int32_t code) { return table.result.apply(table.wide(code * 128)); });
  }
  return map_each_code(context, [&](std::int32_t code) {
    return std::int64_t{table.narrow[static_cast<std::uint8_t>(code + 128)]} - zero_point;
  });
}

Expected<Tensor> by_table(const IntegerContext& context) {
  if (context.arithmetic == Arithmetic::kTosa) return by_function_table(context);
  const auto row = std::ranges::find(kEvaluators, context.node.op, &EvaluatorRow::op);
  return map_codes(context, rounded_table(context, [&](float x) { return row->evaluate(x, context.plain.attrs); }));
}

// A power with a known exponent is a function of one number.
Expected<Tensor> power_by_table(const IntegerContext& context) {
  const Quant& quant = context.quant(1);
  double exponent = 0;
  with_codes(context.input(1).dtype(),
             [&]<class Code>(Code) { exponent = exponent_of(std::int64_t{context.input(1).data<Code>()[0]}, quant); });
  return by_function_table(context, exponent);
}
std::optional<std::string> refuse_power(const IntegerSite& site) {
  const bool is_number = std::ranges::all_of(site.type(1).shape, [](Dim dim) { return dim.is(1); });
  const bool is_known = site.graph.constant(site.node.inputs[1]) != nullptr;
  if (is_known && is_number && site.type(0).shape == site.type().shape) return std::nullopt;
  return "a power whose exponent is no known number";
}

// With equal parameters codes are compared with codes, else there is a table.
Expected<Tensor> clamp_codes(const IntegerContext& context) {
  const auto& attrs = context.as<ClampAttrs>();
  if (context.quant(0) != context.quant() || context.input(0).dtype() != context.plain.dtype) {
    if (context.arithmetic == Arithmetic::kTosa) return by_function_table(context);
    const auto min = static_cast<float>(attrs.min);
    const auto max = static_cast<float>(attrs.max);
    return map_codes(context, rounded_table(context, [&](float x) { return std::min(std::max(x, min), max); }));
  }
  const std::int32_t min = code_of(context.arithmetic, attrs.min, context.quant(), context.plain.dtype);
  const std::int32_t max = code_of(context.arithmetic, attrs.max, context.quant(), context.plain.dtype);
  const std::int32_t zero_point = context.quant().zero_point;
  return map_each_code(context, [&](std::int32_t code) { return std::min(std::max(code, min), max) - zero_point; });
}

// XNNPACK: two factors, by sign.
Expected<Tensor> leaky_relu_codes(const IntegerContext& context) {
  if (context.arithmetic == Arithmetic::kTosa) return by_function_table(context);
  const std::int32_t zero_point = context.quant(0).zero_point;
  const float ratio = context.quant(0).scale() / context.quant().scale();
  const FixedFactor positive = fixed_factor(ratio);
  const FixedFactor negative = fixed_factor(ratio * static_cast<float>(context.as<SlopeAttrs>().slope));
  return map_each_code(
      context, [&](std::int32_t code) { return (code > zero_point ? positive : negative).apply(code - zero_point); });
}
std::optional<std::string> refuse_leaky_relu_codes(const IntegerSite& site) {
  if (site.arithmetic == Arithmetic::kTosa) return std::nullopt;
  const float ratio = site.quant(0).scale() / site.quant().scale();
  if (auto reason = refuse_fixed_factor(ratio)) return reason;
  return refuse_fixed_factor(ratio * static_cast<float>(site.as<SlopeAttrs>().slope));
}

}  // namespace

std::span<const IntegerKernelDef> integer_unary_kernels() {
  static const std::vector<IntegerKernelDef> kKernels = [] {
    std::vector<IntegerKernelDef> all{
        {.op = Op::kClamp, .kernel = clamp_codes},
        {.op = Op::kLeakyRelu, .kernel = leaky_relu_codes, .refusal = refuse_leaky_relu_codes},
        {.op = Op::kPow, .kernel = power_by_table, .in_xnnpack = false, .refusal = refuse_power},
    };
    for (const EvaluatorRow& row : kEvaluators) {
      all.push_back({.op = row.op, .kernel = by_table, .in_xnnpack = row.evaluate != nullptr, .refusal = row.refusal});
    }
    return all;
  }();
  return kKernels;
}

}  // namespace isthmus
