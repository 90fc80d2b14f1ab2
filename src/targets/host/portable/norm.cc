// ExecuTorch's normalizations.
#include <array>
#include <cmath>

#include "targets/host/portable/kernels.h"

namespace isthmus::executorch_kernels {
namespace {

// Sums of several rows side by side: each row's numbers are added in their order, and no row waits for another.
constexpr std::size_t kTogether = 8;
struct Sums {
  float sum = 0;
  float squares = 0;
};
template <std::size_t rows, class Number>
void add_rows(const Number* in, std::size_t count, Sums* sums) {
  std::array<float, rows> sum{};
  std::array<float, rows> squares{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t row = 0; row < rows; ++row) {
      const Number number = in[row * count + i];
      sum[row] = static_cast<float>(sum[row] + number);
      squares[row] = static_cast<float>(squares[row] + static_cast<Number>(static_cast<float>(number)) * number);
    }
  }
  for (std::size_t row = 0; row < rows; ++row) sums[row] = {sum[row], squares[row]};
}

// mean(x^2) - mean(x)^2, in floats.
template <class Number>
void normalize(const NormRows<Number>& rows) {
  std::array<Sums, kTogether> sums;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const std::size_t place = row % kTogether;
    const Number* in = rows.in + row * rows.count;
    if (place == 0 && row + kTogether <= rows.rows) {
      add_rows<kTogether>(in, rows.count, sums.data());
    } else if (rows.rows - row / kTogether * kTogether < kTogether) {
      add_rows<1>(in, rows.count, &sums[place]);
    }
    const auto count = static_cast<float>(rows.count);
    const float mean = sums[place].sum / count;
    const float variance = sums[place].squares / count - mean * mean;
    const float deviation = std::sqrt(variance + rows.eps);
    Number* out = rows.out + row * rows.count;
    if (rows.weight != nullptr && rows.bias != nullptr) {
      for (std::size_t i = 0; i < rows.count; ++i) out[i] = (in[i] - mean) / deviation * rows.weight[i] + rows.bias[i];
    } else {
      for (std::size_t i = 0; i < rows.count; ++i) {
        const Number weight = rows.weight != nullptr ? rows.weight[i] : Number{1};
        out[i] = (in[i] - mean) / deviation * weight + (rows.bias != nullptr ? rows.bias[i] : Number{0});
      }
    }
    rows.means[row] = static_cast<Number>(mean);
    rows.factors[row] = static_cast<Number>(1.0 / static_cast<double>(deviation));
  }
}

const Tensor* input_or_null(const KernelContext& context, std::size_t i) {
  return i < context.inputs.size() ? &context.inputs[i] : nullptr;
}

// Sums are floats, what follows is in doubles.
Expected<Tensor> group_norm(const KernelContext& context) {
  const GroupNormAttrs& attrs = context.as<GroupNormAttrs>();
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const auto parameter = [&](std::size_t i) -> const Number* {
      const Tensor* tensor = input_or_null(context, i);
      return tensor == nullptr ? nullptr : tensor->data<Number>().data();
    };
    const Number* weight = parameter(1);
    const Number* bias = parameter(2);
    const Number* in = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    const std::int64_t channels = context.sizes[1] / attrs.groups;
    const std::int64_t rows = context.sizes[0] * attrs.groups;
    const std::int64_t count = result.count() / rows;
    const std::int64_t plane = count / channels;
    for (std::int64_t row = 0; row < rows; ++row) {
      Sums sums;
      add_rows<1>(in, static_cast<std::size_t>(count), &sums);
      const double mean = static_cast<double>(sums.sum) / static_cast<double>(count);
      const double variance = static_cast<double>(sums.squares) / static_cast<double>(count) - mean * mean;
      const double factor = 1.0 / std::sqrt(variance + attrs.eps);
      if (weight == nullptr && bias == nullptr) {
        for (std::int64_t i = 0; i < count; ++i) {
          out[i] = static_cast<Number>((static_cast<double>(in[i]) - mean) * factor);
        }
      } else {
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t channel = row % attrs.groups * channels + c;
          const double scale = factor * (weight == nullptr ? 1.0 : static_cast<double>(weight[channel]));
          const double offset = -scale * mean + (bias == nullptr ? 0.0 : static_cast<double>(bias[channel]));
          for (std::int64_t i = c * plane; i < (c + 1) * plane; ++i) {
            out[i] = static_cast<Number>(scale * static_cast<double>(in[i]) + offset);
          }
        }
      }
      in += count;
      out += count;
    }
  });
  return result;
}

Expected<Tensor> batch_norm(const KernelContext& context) {
  const double eps = context.as<EpsAttrs>().eps;
  for (const Tensor& input : context.inputs) {
    if (input.dtype() != context.dtype) return bad_input("parameters of another type than the input's");
  }
  Tensor result = context.result();
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const auto mean = context.inputs[1].data<Number>();
    const auto variance = context.inputs[2].data<Number>();
    const auto weight = context.inputs[3].data<Number>();
    const auto bias = context.inputs[4].data<Number>();
    const Number* in = context.inputs[0].data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    const std::int64_t plane = result.count() / (context.sizes[0] * context.sizes[1]);
    for (std::int64_t n = 0; n < context.sizes[0]; ++n) {
      for (std::size_t c = 0; c < mean.size(); ++c) {
        const auto factor = static_cast<Number>(1.0 / std::sqrt(static_cast<double>(variance[c]) + eps));
        for (std::int64_t i = 0; i < plane; ++i) *out++ = (*in++ - mean[c]) * factor * weight[c] + bias[c];
      }
    }
  });
  return result;
}

constexpr KernelDef kNormKernels[] = {
    {Op::kGroupNorm, group_norm},
    {Op::kBatchNorm, batch_norm},
};

}  // namespace

void layer_norm(const NormRows<float>& rows) { normalize(rows); }
void layer_norm(const NormRows<double>& rows) { normalize(rows); }

std::span<const KernelDef> norm_kernels() { return kNormKernels; }

}  // namespace isthmus::executorch_kernels
