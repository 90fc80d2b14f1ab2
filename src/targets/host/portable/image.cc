// ExecuTorch's pools and its resizing of images.
#include <algorithm>
#include <cmath>

#include "targets/host/portable/kernels.h"

namespace isthmus::executorch_kernels {
namespace {

// The taps of a window along one axis that lie inside, and how many it would have with the padding.
struct Reach {
  std::int64_t first;
  std::int64_t end;
  std::int64_t step;
  std::int64_t padded;
};
std::vector<Reach> reaches_of(std::int64_t size, std::int64_t count, std::int64_t kernel, std::int64_t stride,
                              std::int64_t padding, std::int64_t dilation) {
  std::vector<Reach> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * stride - padding;
    const std::int64_t skipped = begin < 0 ? (-begin + dilation - 1) / dilation : 0;
    result.push_back({begin + skipped * dilation, std::min(begin + dilation * (kernel - 1) + 1, size), dilation,
                      std::min(begin + kernel, size + padding) - begin});
  }
  return result;
}

// Windows whose taps all fall into the padding hold no number; dilation makes them.
bool has_empty_window(const std::vector<Reach>& reaches) {
  return std::ranges::any_of(reaches, [](const Reach& reach) { return reach.first >= reach.end; });
}

// Calls use(in, out element, rows, columns) for each place of each channel's result.
template <class Number, class Out, class Use>
void for_each_window(const KernelContext& context, Tensor& result, const std::vector<Reach>& rows,
                     const std::vector<Reach>& columns, Use use) {
  const Tensor& input = context.inputs[0];
  const std::int64_t plane = input.size(input.rank() - 2) * input.size(input.rank() - 1);
  const Number* in = input.data<Number>().data();
  Out* out = result.mutable_data<Out>().data();
  for (const Out* const end = out + result.count(); out != end; in += plane) {
    for (const Reach& row : rows) {
      for (const Reach& column : columns) use(in, *out++, row, column);
    }
  }
}

Expected<Tensor> avg_pool(const KernelContext& context) {
  const AvgPoolAttrs& attrs = context.as<AvgPoolAttrs>();
  if (!is_floating(context.dtype)) return kernel_def(Op::kAvgPool2d).kernel(context);
  Tensor result = context.result();
  const Tensor& input = context.inputs[0];
  const auto axis = [&](std::size_t i) {
    const std::size_t at = context.sizes.size() - 2 + i;
    return reaches_of(input.sizes()[at], context.sizes[at], attrs.kernel[i], attrs.stride[i], attrs.padding[2 * i], 1);
  };
  const std::int64_t width = input.size(input.rank() - 1);
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    for_each_window<Number, Number>(context, result, axis(0), axis(1),
                                    [&](const Number* in, Number& out, const Reach& row, const Reach& column) {
                                      Number sum = 0;
                                      for (std::int64_t y = row.first; y < row.end; ++y) {
                                        for (std::int64_t x = column.first; x < column.end; ++x)
                                          sum += in[y * width + x];
                                      }
                                      std::int64_t count = (row.end - row.first) * (column.end - column.first);
                                      if (attrs.count_include_pad) count = row.padded * column.padded;
                                      if (attrs.divisor != 0) count = attrs.divisor;
                                      out = sum / static_cast<Number>(count);
                                    });
  });
  return result;
}

// Sums are floats, and so are the quotients that say where windows begin and end.
Expected<Tensor> adaptive_avg_pool(const KernelContext& context) {
  Tensor result = context.result();
  const Tensor& input = context.inputs[0];
  const auto axis = [&](std::size_t at) {
    std::vector<Reach> reaches;
    const std::int64_t size = input.sizes()[at];
    const auto count = static_cast<float>(context.sizes[at]);
    for (std::int64_t i = 0; i < context.sizes[at]; ++i) {
      const auto first = static_cast<std::int64_t>(std::floor(static_cast<float>(i * size) / count));
      const auto end = static_cast<std::int64_t>(std::ceil(static_cast<float>((i + 1) * size) / count));
      reaches.push_back({first, std::min(end, size), 1, 0});
    }
    return reaches;
  };
  const std::size_t rank = context.sizes.size();
  const std::int64_t width = input.sizes()[rank - 1];
  dispatch(context.dtype, [&]<class Number>(Number) {
    for_each_window<Number, Number>(context, result, axis(rank - 2), axis(rank - 1),
                                    [&](const Number* in, Number& out, const Reach& row, const Reach& column) {
                                      float sum = 0;
                                      for (std::int64_t y = row.first; y < row.end; ++y) {
                                        for (std::int64_t x = column.first; x < column.end; ++x) {
                                          sum = static_cast<float>(sum + static_cast<float>(in[y * width + x]));
                                        }
                                      }
                                      const std::int64_t count = (row.end - row.first) * (column.end - column.first);
                                      out = converted<Number>(sum / static_cast<float>(count));
                                    });
  });
  return result;
}

// The first of the greatest numbers; NaN is greater than none, and nothing is greater than a NaN that comes first.
template <bool kIndices>
Expected<Tensor> max_pool(const KernelContext& context) {
  const MaxPoolAttrs& attrs = context.as<MaxPoolAttrs>();
  Tensor result = context.result();
  const Tensor& input = context.inputs[0];
  const auto axis = [&](std::size_t i) {
    const std::size_t at = context.sizes.size() - 2 + i;
    return reaches_of(input.sizes()[at], context.sizes[at], attrs.kernel[i], attrs.stride[i], attrs.padding[2 * i],
                      attrs.dilation[i]);
  };
  const std::vector<Reach> rows = axis(0);
  const std::vector<Reach> columns = axis(1);
  if (has_empty_window(rows) || has_empty_window(columns)) {
    return bad_input("a window of a pool covers only padding");
  }
  const std::int64_t width = input.size(input.rank() - 1);
  dispatch(input.dtype(), [&]<class Number>(Number) {
    using Out = std::conditional_t<kIndices, std::int64_t, Number>;
    for_each_window<Number, Out>(context, result, rows, columns,
                                 [&](const Number* in, Out& out, const Reach& row, const Reach& column) {
                                   std::int64_t best = row.first * width + column.first;
                                   for (std::int64_t y = row.first; y < row.end; y += row.step) {
                                     for (std::int64_t x = column.first; x < column.end; x += column.step) {
                                       if (in[y * width + x] > in[best]) best = y * width + x;
                                     }
                                   }
                                   if constexpr (kIndices) {
                                     out = best;
                                   } else {
                                     out = in[best];
                                   }
                                 });
  });
  return result;
}

// Two neighbours and their weights, which are floats whatever the elements are.
struct Neighbours {
  std::int64_t first;
  std::int64_t second;
  float first_weight;
  float second_weight;
};
std::vector<Neighbours> neighbours_of(const ResizeAttrs& attrs, std::int64_t from, std::int64_t to, std::size_t axis) {
  const double scale = attrs.scales.empty() ? static_cast<double>(to) / static_cast<double>(from) : attrs.scales[axis];
  double ratio = 1.0 / scale;
  if (attrs.align_corners) ratio = to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0;
  const auto step = static_cast<float>(ratio);
  std::vector<Neighbours> result;
  for (std::int64_t i = 0; i < to; ++i) {
    if (to == from) {
      result.push_back({i, i, 1, 0});
      continue;
    }
    float source = step * static_cast<float>(i);
    if (!attrs.align_corners) source = std::max(step * (static_cast<float>(i) + 0.5f) - 0.5f, 0.0f);
    const std::int64_t first = std::min(static_cast<std::int64_t>(std::floor(source)), from - 1);
    const float weight = std::min(std::max(source - static_cast<float>(first), 0.0f), 1.0f);
    result.push_back({first, std::min(first + 1, from - 1), 1.0f - weight, weight});
  }
  return result;
}

Expected<Tensor> resize(const KernelContext& context) {
  const ResizeAttrs& attrs = context.as<ResizeAttrs>();
  if (attrs.mode != ResizeMode::kLinear || !is_floating(context.dtype)) {
    return kernel_def(Op::kResize2d).kernel(context);
  }
  Tensor result = context.result();
  const Tensor& input = context.inputs[0];
  const std::vector<Neighbours> rows = neighbours_of(attrs, input.size(2), result.size(2), 0);
  const std::vector<Neighbours> columns = neighbours_of(attrs, input.size(3), result.size(3), 1);
  const std::int64_t width = input.size(3);
  dispatch_float(context.dtype, [&]<class Number>(Number) {
    const Number* in = input.data<Number>().data();
    Number* out = result.mutable_data<Number>().data();
    for (std::int64_t plane = 0; plane < input.size(0) * input.size(1); ++plane, in += input.size(2) * width) {
      for (const Neighbours& row : rows) {
        const Number* above = in + row.first * width;
        const Number* below = in + row.second * width;
        for (const Neighbours& column : columns) {
          const auto mixed = [&](const Number* line) {
            return line[column.first] * column.first_weight + line[column.second] * column.second_weight;
          };
          *out++ = mixed(above) * row.first_weight + mixed(below) * row.second_weight;
        }
      }
    }
  });
  return result;
}

constexpr KernelDef kImageKernels[] = {
    {Op::kAvgPool2d, avg_pool},        {Op::kAdaptiveAvgPool2d, adaptive_avg_pool},
    {Op::kMaxPool2d, max_pool<false>}, {Op::kMaxPool2dIndices, max_pool<true>},
    {Op::kResize2d, resize},
};

}  // namespace

std::span<const KernelDef> image_kernels() { return kImageKernels; }

}  // namespace isthmus::executorch_kernels
