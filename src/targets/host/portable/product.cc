// ExecuTorch's products of matrices and convolutions: sums in the element type, term by term.
#include <algorithm>

#include "targets/host/portable/kernels.h"

namespace isthmus::executorch_kernels {
namespace {

// Results beside each other grow side by side, each by its terms in their order.
template <class Number>
void multiply(const Number* a, const Number* b, Number* out, std::int64_t rows, std::int64_t depth,
              std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i, a += depth, out += columns) {
    std::fill(out, out + columns, Number{0});
    for (std::int64_t k = 0; k < depth; ++k) {
      const Number factor = a[k];
      const Number* row = b + k * columns;
      for (std::int64_t j = 0; j < columns; ++j) out[j] += factor * row[j];
    }
  }
}

Expected<Tensor> matmul(const KernelContext& context) {
  const Tensor& a = context.inputs[0];
  const Tensor& b = context.inputs[1];
  const bool is_plain = a.rank() == b.rank() && (a.rank() == 2 || (a.rank() == 3 && a.size(0) == b.size(0)));
  if (!is_floating(context.dtype) || !is_plain) return kernel_def(Op::kMatmul).kernel(context);
  Tensor result = context.result();
  const std::int64_t batch = a.rank() == 3 ? a.size(0) : 1;
  const std::int64_t rows = a.size(a.rank() - 2);
  const std::int64_t depth = a.size(a.rank() - 1);
  const std::int64_t columns = b.size(b.rank() - 1);
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    for (std::int64_t i = 0; i < batch; ++i) {
      multiply(a.data<Number>().data() + i * rows * depth, b.data<Number>().data() + i * depth * columns,
               result.mutable_data<Number>().data() + i * rows * columns, rows, depth, columns);
    }
  });
  return result;
}

// An image of one channel, or a filter of one.
struct Plane {
  std::int64_t height;
  std::int64_t width;
  std::int64_t count() const { return height * width; }
};
Plane plane_of(const Tensor& tensor) { return {tensor.size(2), tensor.size(3)}; }

struct ConvSizes {
  Plane from;
  Plane to;
  Plane filter;
  std::int64_t each;  // channels of the result in a group

  ConvSizes(const KernelContext& context, const Tensor& result, std::int64_t groups)
      : from(plane_of(context.inputs[0])),
        to(plane_of(result)),
        filter(plane_of(context.inputs[1])),
        each(result.size(1) / groups) {}
};

template <class Number>
Number bias_of(const KernelContext& context, std::int64_t channel) {
  return context.inputs.size() > 2 ? context.inputs[2].data<Number>()[static_cast<std::size_t>(channel)] : Number{0};
}

// out[y, x] += in[y * stride + ..., x * stride + ...] * factor, wherever that lies inside.
template <class Number>
void add_shifted(const Number* in, Plane from, Number* out, Plane to, Number factor, const ConvAttrs& attrs,
                 std::int64_t tap_y, std::int64_t tap_x) {
  const std::int64_t left = attrs.dilation[1] * tap_x - attrs.padding[2];
  const std::int64_t stride = attrs.stride[1];
  const std::int64_t begin = left < 0 ? (-left + stride - 1) / stride : 0;
  const std::int64_t end = from.width <= left ? 0 : std::min(to.width, (from.width - 1 - left) / stride + 1);
  for (std::int64_t y = 0; y < to.height; ++y) {
    const std::int64_t row = attrs.stride[0] * y + attrs.dilation[0] * tap_y - attrs.padding[0];
    if (row < 0 || row >= from.height) continue;
    for (std::int64_t x = begin; x < end; ++x)
      out[y * to.width + x] += in[row * from.width + x * stride + left] * factor;
  }
}

Expected<Tensor> conv(const KernelContext& context) {
  const ConvAttrs& attrs = context.as<ConvAttrs>();
  if (!is_floating(context.dtype)) return kernel_def(Op::kConv2d).kernel(context);
  Tensor result = context.result();
  const Tensor& input = context.inputs[0];
  const Tensor& weight = context.inputs[1];
  const ConvSizes sizes(context, result, attrs.groups);
  const std::int64_t channels = weight.size(1);
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const Number* taps = weight.data<Number>().data();
    for (std::int64_t n = 0; n < result.size(0); ++n) {
      for (std::int64_t c = 0; c < result.size(1); ++c) {
        Number* out = result.mutable_data<Number>().data() + (n * result.size(1) + c) * sizes.to.count();
        for (std::int64_t k = 0; k < channels; ++k) {
          const std::int64_t channel = n * input.size(1) + c / sizes.each * channels + k;
          const Number* in = input.data<Number>().data() + channel * sizes.from.count();
          for (std::int64_t tap = 0; tap < sizes.filter.count(); ++tap) {
            const Number factor = taps[(c * channels + k) * sizes.filter.count() + tap];
            add_shifted(in, sizes.from, out, sizes.to, factor, attrs, tap / sizes.filter.width,
                        tap % sizes.filter.width);
          }
        }
        const Number bias = bias_of<Number>(context, c);
        for (std::int64_t i = 0; i < sizes.to.count() && context.inputs.size() > 2; ++i) out[i] += bias;
      }
    }
  });
  return result;
}

// The bias comes first, then one place of the input after the other.
Expected<Tensor> conv_transpose(const KernelContext& context) {
  const ConvTransposeAttrs& attrs = context.as<ConvTransposeAttrs>();
  if (!is_floating(context.dtype)) return kernel_def(Op::kConvTranspose2d).kernel(context);
  Tensor result = context.result();
  const Tensor& input = context.inputs[0];
  const Tensor& weight = context.inputs[1];
  const ConvSizes sizes(context, result, attrs.groups);
  const std::int64_t channels = input.size(1) / attrs.groups;
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const Number* taps = weight.data<Number>().data();
    const auto add_place = [&](Number number, const Number* tap, Number* out, std::int64_t y, std::int64_t x) {
      for (std::int64_t i = 0; i < sizes.filter.height; ++i) {
        const std::int64_t row = attrs.stride[0] * y + attrs.dilation[0] * i - attrs.padding[0];
        if (row < 0 || row >= sizes.to.height) continue;
        for (std::int64_t k = 0; k < sizes.filter.width; ++k) {
          const std::int64_t column = attrs.stride[1] * x + attrs.dilation[1] * k - attrs.padding[2];
          if (column >= 0 && column < sizes.to.width)
            out[row * sizes.to.width + column] += number * tap[i * sizes.filter.width + k];
        }
      }
    };
    for (std::int64_t n = 0; n < result.size(0); ++n) {
      for (std::int64_t c = 0; c < result.size(1); ++c) {
        Number* out = result.mutable_data<Number>().data() + (n * result.size(1) + c) * sizes.to.count();
        std::fill(out, out + sizes.to.count(), bias_of<Number>(context, c));
        const std::int64_t first = c / sizes.each * channels;
        const Number* in = input.data<Number>().data() + (n * input.size(1) + first) * sizes.from.count();
        for (std::int64_t place = 0; place < sizes.from.count(); ++place) {
          for (std::int64_t k = 0; k < channels; ++k) {
            const Number* tap = taps + ((first + k) * sizes.each + c % sizes.each) * sizes.filter.count();
            add_place(in[k * sizes.from.count() + place], tap, out, place / sizes.from.width, place % sizes.from.width);
          }
        }
      }
    }
  });
  return result;
}

constexpr KernelDef kProductKernels[] = {
    {Op::kMatmul, matmul},
    {Op::kConv2d, conv},
    {Op::kConvTranspose2d, conv_transpose},
};

}  // namespace

std::span<const KernelDef> product_kernels() { return kProductKernels; }

}  // namespace isthmus::executorch_kernels
