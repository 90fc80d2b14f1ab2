// Reference kernels of normalization and attention.
#include <algorithm>
#include <cmath>
#include <optional>

#include "interpret/kernel.h"
#include "interpret/kernels/attention.h"

namespace isthmus {
namespace {

// A parameter's numbers, which may be of another float type than the input's.
std::vector<double> numbers_of(const Tensor& tensor) {
  return dispatch_float(tensor.dtype(), [&]<class Number>(Number) {
    const auto numbers = tensor.data<Number>();
    return std::vector<double>(numbers.begin(), numbers.end());
  });
}

std::optional<std::vector<double>> parameter(const KernelContext& context, std::size_t input) {
  if (input >= context.inputs.size()) return std::nullopt;
  return numbers_of(context.inputs[input]);
}

Expected<Tensor> batch_norm(const KernelContext& context) {
  const double eps = context.as<EpsAttrs>().eps;
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    if (result.count() == 0) return result;
    const auto mean = numbers_of(context.inputs[1]);
    const auto variance = numbers_of(context.inputs[2]);
    const auto weight = numbers_of(context.inputs[3]);
    const auto bias = numbers_of(context.inputs[4]);
    const Number* in = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    const std::size_t channels = mean.size();
    const std::int64_t plane = result.count() / (result.size(0) * result.size(1));
    for (std::int64_t n = 0; n < result.size(0); ++n) {
      for (std::size_t c = 0; c < channels; ++c) {
        const double factor = weight[c] / std::sqrt(variance[c] + eps);
        for (std::int64_t i = 0; i < plane; ++i) {
          *out++ = static_cast<Number>((static_cast<double>(*in++) - mean[c]) * factor + bias[c]);
        }
      }
    }
    return result;
  });
}

struct Normal {
  double mean;
  double factor;
};

template <class Number>
Normal normal_of(const Number* numbers, std::int64_t count, double eps) {
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += static_cast<double>(numbers[i]);
  const double mean = total / static_cast<double>(count);
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(numbers[i]) - mean;
    squares += difference * difference;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + eps)};
}

// Rows of `count` numbers are normalized; number i of row r is scaled by the parameters at place(r, i).
template <class Place>
Expected<Tensor> normalize_rows(const KernelContext& context, std::int64_t count, double eps, Place place) {
  return dispatch_float(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    if (result.count() == 0) return result;
    const auto weight = parameter(context, 1);
    const auto bias = parameter(context, 2);
    const Number* in = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    const std::int64_t rows = result.count() / count;
    for (std::int64_t row = 0; row < rows; ++row, in += count, out += count) {
      const Normal normal = normal_of(in, count, eps);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t at = place(row, i);
        double number = (static_cast<double>(in[i]) - normal.mean) * normal.factor;
        if (weight) number *= (*weight)[at];
        if (bias) number += (*bias)[at];
        out[i] = static_cast<Number>(number);
      }
    }
    return result;
  });
}

Expected<Tensor> layer_norm(const KernelContext& context) {
  const auto& attrs = context.as<LayerNormAttrs>();
  std::int64_t count = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(attrs.axes); ++i)
    count *= *(context.sizes.rbegin() + static_cast<std::ptrdiff_t>(i));
  return normalize_rows(context, count, attrs.eps,
                        [](std::int64_t, std::int64_t i) { return static_cast<std::size_t>(i); });
}

Expected<Tensor> group_norm(const KernelContext& context) {
  const auto& attrs = context.as<GroupNormAttrs>();
  const std::int64_t channels = context.sizes[1] / attrs.groups;
  std::int64_t plane = 1;
  for (std::size_t i = 2; i < context.sizes.size(); ++i) plane *= context.sizes[i];
  return normalize_rows(context, channels * plane, attrs.eps, [&](std::int64_t row, std::int64_t i) {
    return static_cast<std::size_t>(row % attrs.groups * channels + i / plane);
  });
}

}  // namespace

std::span<const KernelDef> norm_kernels() {
  static const KernelDef kKernels[] = {
      {Op::kBatchNorm, batch_norm},
      {Op::kLayerNorm, layer_norm},
      {Op::kGroupNorm, group_norm},
      {Op::kAttention, attention},
  };
  return kKernels;
}

}  // namespace isthmus
