// Reference kernels of pools; a window over two axes is one over three of which the first has size 1.
#include <algorithm>
#include <array>
#include <cmath>

#include "interpret/kernel.h"
#include "interpret/kernels/accumulate.h"

namespace isthmus {
namespace {

// What one place of the result covers along one axis: first, first + step, ... below end, all inside the input.
struct Reach {
  std::int64_t first = 0;
  std::int64_t end = 1;
  std::int64_t step = 1;
  std::int64_t padded = 1;  // how many the window holds with the padding that counts
};

// One axis: its size before, and the reach of each place after.
struct PoolAxis {
  std::int64_t size = 1;
  std::vector<Reach> reaches = {Reach{}};
};
using PoolAxes = std::array<PoolAxis, 3>;

struct Window {
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t before;
  std::int64_t after;
  std::int64_t dilation;
};

std::vector<Reach> sliding(std::int64_t size, std::int64_t count, const Window& window) {
  std::vector<Reach> reaches;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * window.stride - window.before;
    const std::int64_t end = begin + window.dilation * (window.kernel - 1) + 1;
    // The first tap that lies inside.
    const std::int64_t skipped = begin < 0 ? (-begin + window.dilation - 1) / window.dilation : 0;
    reaches.push_back({begin + skipped * window.dilation, std::min(end, size), window.dilation,
                       std::min(end, size + window.after) - begin});
  }
  return reaches;
}

std::vector<Reach> adaptive(std::int64_t size, std::int64_t count) {
  std::vector<Reach> reaches;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * size / count;
    const std::int64_t end = ((i + 1) * size + count - 1) / count;
    reaches.push_back({begin, end, 1, end - begin});
  }
  return reaches;
}

template <class Make>
PoolAxes pool_axes(const KernelContext& context, Make make) {
  PoolAxes axes;
  const std::size_t spatial = context.sizes.size() - 2;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t size = context.inputs[0].size(static_cast<std::int64_t>(i + 2));
    axes[3 - spatial + i] = {size, make(i, size, context.sizes[i + 2])};
  }
  return axes;
}

PoolAxes max_axes(const KernelContext& context) {
  const auto& attrs = context.as<MaxPoolAttrs>();
  return pool_axes(context, [&](std::size_t i, std::int64_t size, std::int64_t count) {
    return sliding(
        size, count,
        {attrs.kernel[i], attrs.stride[i], attrs.padding[2 * i], attrs.padding[2 * i + 1], attrs.dilation[i]});
  });
}

PoolAxes adaptive_axes(const KernelContext& context) {
  return pool_axes(context, [](std::size_t, std::int64_t size, std::int64_t count) { return adaptive(size, count); });
}

// Calls of(plane, z, y, x) for each place of the result.
template <class Number, class Result, class Of>
Tensor pool(const KernelContext& context, const PoolAxes& axes, Of of) {
  Tensor result = context.result();
  const Number* plane = context.inputs[0].data<Number>().data();
  const std::int64_t plane_size = axes[0].size * axes[1].size * axes[2].size;
  const std::span<Result> out = result.mutable_data<Result>();
  for (std::size_t next = 0; next < out.size(); plane += plane_size) {
    for (const Reach& z : axes[0].reaches) {
      for (const Reach& y : axes[1].reaches) {
        for (const Reach& x : axes[2].reaches) out[next++] = of(plane, z, y, x);
      }
    }
  }
  return result;
}

template <class Use>
void for_each_place(const PoolAxes& axes, const Reach& z, const Reach& y, const Reach& x, Use use) {
  for (std::int64_t iz = z.first; iz < z.end; iz += z.step) {
    for (std::int64_t iy = y.first; iy < y.end; iy += y.step) {
      const std::int64_t row = (iz * axes[1].size + iy) * axes[2].size;
      for (std::int64_t ix = x.first; ix < x.end; ix += x.step) use(row + ix);
    }
  }
}

// The place of the greatest number of a window, the first of several; a NaN wins.
template <class Number>
std::int64_t greatest_place(const Number* plane, const PoolAxes& axes, const Reach& z, const Reach& y, const Reach& x) {
  std::int64_t best = -1;
  for_each_place(axes, z, y, x, [&](std::int64_t place) {
    bool is_better = best < 0 || plane[place] > plane[best];
    if constexpr (std::is_floating_point_v<Number>) is_better = is_better || std::isnan(plane[place]);
    if (is_better) best = place;
  });
  return best;
}

// Windows whose taps all fall into the padding hold no number; dilation makes them.
bool has_empty_window(const PoolAxes& axes) {
  return std::ranges::any_of(axes, [](const PoolAxis& axis) {
    return std::ranges::any_of(axis.reaches, [](const Reach& reach) { return reach.first >= reach.end; });
  });
}

Expected<Tensor> max_values(const KernelContext& context, const PoolAxes& axes) {
  if (has_empty_window(axes)) return bad_input("a window of a pool covers only padding");
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    return pool<Number, Number>(context, axes,
                                [&](const Number* plane, const Reach& z, const Reach& y, const Reach& x) {
                                  return plane[greatest_place(plane, axes, z, y, x)];
                                });
  });
}

Expected<Tensor> max_places(const KernelContext& context, const PoolAxes& axes) {
  if (has_empty_window(axes)) return bad_input("a window of a pool covers only padding");
  return dispatch(context.inputs[0].dtype(), [&]<class Number>(Number) -> Expected<Tensor> {
    return pool<Number, std::int64_t>(context, axes,
                                      [&](const Number* plane, const Reach& z, const Reach& y, const Reach& x) {
                                        return greatest_place(plane, axes, z, y, x);
                                      });
  });
}

Expected<Tensor> max_pool(const KernelContext& context) { return max_values(context, max_axes(context)); }
Expected<Tensor> max_pool_indices(const KernelContext& context) { return max_places(context, max_axes(context)); }
Expected<Tensor> adaptive_max(const KernelContext& context) { return max_values(context, adaptive_axes(context)); }
Expected<Tensor> adaptive_max_indices(const KernelContext& context) {
  return max_places(context, adaptive_axes(context));
}

// `divisor` of 0: as many as the window holds, padding counted or not.
Expected<Tensor> average(const KernelContext& context, const PoolAxes& axes, std::int64_t divisor,
                         bool counts_padding) {
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    using Sum = Accumulator<Number>;
    return pool<Number, Number>(
        context, axes, [&](const Number* plane, const Reach& z, const Reach& y, const Reach& x) {
          Sum sum{};
          std::int64_t inside = 0;
          for_each_place(axes, z, y, x, [&](std::int64_t place) {
            sum += static_cast<Sum>(plane[place]);
            ++inside;
          });
          if (inside == 0) return Number{};
          const std::int64_t by = divisor != 0 ? divisor : counts_padding ? z.padded * y.padded * x.padded : inside;
          if constexpr (std::is_floating_point_v<Number>) return static_cast<Number>(sum / static_cast<double>(by));
          return static_cast<Number>(static_cast<std::int64_t>(sum) / by);
        });
  });
}

Expected<Tensor> avg_pool(const KernelContext& context) {
  const auto& attrs = context.as<AvgPoolAttrs>();
  const PoolAxes axes = pool_axes(context, [&](std::size_t i, std::int64_t size, std::int64_t count) {
    return sliding(size, count, {attrs.kernel[i], attrs.stride[i], attrs.padding[2 * i], attrs.padding[2 * i + 1], 1});
  });
  return average(context, axes, attrs.divisor, attrs.count_include_pad);
}

Expected<Tensor> adaptive_avg(const KernelContext& context) {
  return average(context, adaptive_axes(context), 0, false);
}

}  // namespace

std::span<const KernelDef> pool_kernels() {
  static const KernelDef kKernels[] = {
      {Op::kMaxPool2d, max_pool},
      {Op::kMaxPool2dIndices, max_pool_indices},
      {Op::kMaxPool3d, max_pool},
      {Op::kMaxPool3dIndices, max_pool_indices},
      {Op::kAvgPool2d, avg_pool},
      {Op::kAvgPool3d, avg_pool},
      {Op::kAdaptiveAvgPool2d, adaptive_avg},
      {Op::kAdaptiveMaxPool2d, adaptive_max},
      {Op::kAdaptiveMaxPool2dIndices, adaptive_max_indices},
  };
  return kKernels;
}

}  // namespace isthmus
