// Reference kernels: activation functions.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/portable_math.h"
#include "interpret/kernels/elementwise.h"
#include "interpret/kernels/unary.h"

namespace isthmus {
namespace {

Expected<Tensor> sigmoid(const KernelContext& context) {
  return map_floats(context, [](auto x) { return 1 / (1 + portable::exp(-x)); });
}

Expected<Tensor> tanh(const KernelContext& context) {
  return map_floats(context, [](auto x) { return portable::tanh(x); });
}

Expected<Tensor> silu(const KernelContext& context) {
  return map_floats(context, [](auto x) { return x / (1 + portable::exp(-x)); });
}

// x + 3 between 0 and 6; NaN stays.
template <class Number>
Number ramp(Number x) {
  return std::min(std::max(x + Number{3}, Number{0}), Number{6});
}
Expected<Tensor> hardswish(const KernelContext& context) {
  return map_floats(context, [](auto x) { return x * ramp(x) / 6; });
}
Expected<Tensor> hardsigmoid(const KernelContext& context) {
  return map_floats(context, [](auto x) { return ramp(x) / 6; });
}

Expected<Tensor> mish(const KernelContext& context) {
  return map_floats(context, [](auto x) { return x * portable::tanh(portable::log1p(portable::exp(x))); });
}

Expected<Tensor> log_sigmoid(const KernelContext& context) {
  return map_floats(context, []<class Number>(Number x) {
    return std::min(x, Number{0}) - portable::log1p(portable::exp(-std::abs(x)));
  });
}

Expected<Tensor> gelu(const KernelContext& context) {
  if (context.as<GeluAttrs>().tanh) {
    return map_floats(context, []<class Number>(Number x) {
      constexpr auto kFactor = static_cast<Number>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
      const Number inner = kFactor * (x + static_cast<Number>(0.044715) * x * x * x);
      return static_cast<Number>(0.5) * x * (1 + portable::tanh(inner));
    });
  }
  return map_floats(context, []<class Number>(Number x) {
    constexpr auto kFactor = static_cast<Number>(std::numbers::sqrt2 / 2);
    return static_cast<Number>(0.5) * x * (1 + portable::erf(x * kFactor));
  });
}

Expected<Tensor> elu(const KernelContext& context) {
  const auto& attrs = context.as<EluAttrs>();
  return map_floats(context, [&]<class Number>(Number x) {
    const auto below = static_cast<Number>(attrs.alpha * attrs.scale);
    if (x <= 0) return portable::expm1(x * static_cast<Number>(attrs.input_scale)) * below;
    return x * static_cast<Number>(attrs.scale);
  });
}

Expected<Tensor> leaky_relu(const KernelContext& context) {
  const double slope = context.as<SlopeAttrs>().slope;
  return map_floats(context, [&]<class Number>(Number x) { return x > 0 ? x : x * static_cast<Number>(slope); });
}

Expected<Tensor> softplus(const KernelContext& context) {
  const auto& attrs = context.as<SoftplusAttrs>();
  return map_floats(context, [&]<class Number>(Number x) {
    const auto beta = static_cast<Number>(attrs.beta);
    if (x * beta > static_cast<Number>(attrs.threshold)) return x;
    return portable::log1p(portable::exp(x * beta)) / beta;
  });
}

Expected<Tensor> hardshrink(const KernelContext& context) {
  const double lambda = context.as<LambdaAttrs>().lambda;
  return map_floats(context, [&]<class Number>(Number x) {
    const auto limit = static_cast<Number>(lambda);
    return x >= -limit && x <= limit ? Number{0} : x;
  });
}

Expected<Tensor> softshrink(const KernelContext& context) {
  const double lambda = context.as<LambdaAttrs>().lambda;
  return map_floats(context, [&]<class Number>(Number x) {
    const auto limit = static_cast<Number>(lambda);
    if (x > limit) return x - limit;
    if (x < -limit) return x + limit;
    return x * 0;  // NaN stays
  });
}

constexpr KernelDef kActivationKernels[] = {
    {Op::kSigmoid, sigmoid},
    {Op::kTanh, tanh},
    {Op::kSilu, silu},
    {Op::kHardswish, hardswish},
    {Op::kHardsigmoid, hardsigmoid},
    {Op::kMish, mish},
    {Op::kLogSigmoid, log_sigmoid},
    {Op::kGelu, gelu},
    {Op::kElu, elu},
    {Op::kLeakyRelu, leaky_relu},
    {Op::kSoftplus, softplus},
    {Op::kHardshrink, hardshrink},
    {Op::kSoftshrink, softshrink},
};

}  // namespace

std::span<const KernelDef> activation_kernels() { return kActivationKernels; }

}  // namespace isthmus
