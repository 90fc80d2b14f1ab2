// Reference kernels of convolutions: each filter is spread over a whole plane of results, tap by tap; many filters of
// floats are a product of matrices.
#include <algorithm>
#include <array>
#include <vector>

#include "interpret/kernel.h"
#include "interpret/kernels/accumulate.h"
#include "interpret/kernels/float_product.h"

namespace isthmus {
namespace {

// Depth, height, width; what a convolution of two axes lacks is 1.
struct Axis {
  std::int64_t input = 1;
  std::int64_t kernel = 1;
  std::int64_t output = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;
  std::int64_t dilation = 1;
};
using Axes = std::array<Axis, 3>;

template <class ConvLike>
Axes axes_of(const KernelContext& context, const ConvLike& attrs) {
  Axes axes;
  const std::size_t spatial = context.sizes.size() - 2;
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto place = static_cast<std::int64_t>(i + 2);
    axes[3 - spatial + i] = {.input = context.inputs[0].size(place),
                             .kernel = context.inputs[1].size(place),
                             .output = context.sizes[i + 2],
                             .stride = attrs.stride[i],
                             .before = attrs.padding[2 * i],
                             .dilation = attrs.dilation[i]};
  }
  return axes;
}

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

// The positions `at` in [0, count) whose partner at * stride + shift lies in [0, limit).
struct Span {
  std::int64_t begin;
  std::int64_t end;
};
Span positions(std::int64_t count, std::int64_t stride, std::int64_t shift, std::int64_t limit) {
  const std::int64_t begin = std::max<std::int64_t>(0, ceil_divide(-shift, stride));
  const std::int64_t end = std::min(count, ceil_divide(limit - shift, stride));
  return {begin, std::max(begin, end)};
}

// Calls use(moving offset, fixed offset, length, stride) for rows of pairs that one tap of the kernel joins: `count`
// positions of the side that moves by one, and their partners on the side that moves by the stride.
template <class Use>
void for_each_row(const Axes& axes, const std::array<Span, 3>& spans, const std::array<std::int64_t, 3>& shifts,
                  std::int64_t moving_height, std::int64_t moving_width, std::int64_t fixed_height,
                  std::int64_t fixed_width, Use use) {
  const std::int64_t length = spans[2].end - spans[2].begin;
  if (length <= 0) return;
  for (std::int64_t z = spans[0].begin; z < spans[0].end; ++z) {
    const std::int64_t partner_z = z * axes[0].stride + shifts[0];
    for (std::int64_t y = spans[1].begin; y < spans[1].end; ++y) {
      const std::int64_t partner_y = y * axes[1].stride + shifts[1];
      use((z * moving_height + y) * moving_width + spans[2].begin,
          (partner_z * fixed_height + partner_y) * fixed_width + spans[2].begin * axes[2].stride + shifts[2], length);
    }
  }
}

// Calls use(shifts) for each tap of a kernel: how far it reaches from where its window begins.
template <class Use>
void for_each_tap(const Axes& axes, Use use) {
  std::array<std::int64_t, 3> shifts{};
  for (std::int64_t z = 0; z < axes[0].kernel; ++z) {
    shifts[0] = z * axes[0].dilation - axes[0].before;
    for (std::int64_t y = 0; y < axes[1].kernel; ++y) {
      shifts[1] = y * axes[1].dilation - axes[1].before;
      for (std::int64_t x = 0; x < axes[2].kernel; ++x) {
        shifts[2] = x * axes[2].dilation - axes[2].before;
        use(shifts);
      }
    }
  }
}

std::int64_t volume(const Axes& axes, std::int64_t Axis::*size) {
  return axes[0].*size * (axes[1].*size) * (axes[2].*size);
}

// The strided side has a stride known when compiling where it is 1: that loop is most of the work of most models.
template <class Number, class Sum>
void add_scaled(Sum* sums, const Number* numbers, Sum factor, std::int64_t count, std::int64_t stride) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * static_cast<Sum>(numbers[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * static_cast<Sum>(numbers[i * stride]);
  }
}

template <class Number>
void convolve_plane(const Axes& axes, const Number* input, const Number* filter, std::int64_t channels,
                    Accumulator<Number>* sums) {
  using Sum = Accumulator<Number>;
  const bool is_pointwise = std::ranges::all_of(
      axes, [](const Axis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.input == axis.output; });
  const std::int64_t plane = volume(axes, &Axis::input);
  if (is_pointwise) {
    // Four channels at a time: the sums are read and written a quarter as often.
    std::int64_t c = 0;
    for (; c + 4 <= channels; c += 4) {
      const Number* rows = input + c * plane;
      const Sum f0 = static_cast<Sum>(filter[c]), f1 = static_cast<Sum>(filter[c + 1]);
      const Sum f2 = static_cast<Sum>(filter[c + 2]), f3 = static_cast<Sum>(filter[c + 3]);
      for (std::int64_t i = 0; i < plane; ++i) {
        sums[i] += f0 * static_cast<Sum>(rows[i]) + f1 * static_cast<Sum>(rows[plane + i]) +
                   f2 * static_cast<Sum>(rows[2 * plane + i]) + f3 * static_cast<Sum>(rows[3 * plane + i]);
      }
    }
    for (; c < channels; ++c) add_scaled(sums, input + c * plane, static_cast<Sum>(filter[c]), plane, 1);
    return;
  }
  for (std::int64_t c = 0; c < channels; ++c, input += plane) {
    for_each_tap(axes, [&](const std::array<std::int64_t, 3>& shifts) {
      const Sum factor = static_cast<Sum>(*filter++);
      std::array<Span, 3> spans{};
      for (std::size_t i = 0; i < 3; ++i) {
        spans[i] = positions(axes[i].output, axes[i].stride, shifts[i], axes[i].input);
      }
      for_each_row(axes, spans, shifts, axes[1].output, axes[2].output, axes[1].input, axes[2].input,
                   [&](std::int64_t to, std::int64_t from, std::int64_t count) {
                     add_scaled(sums + to, input + from, factor, count, axes[2].stride);
                   });
    });
  }
}

// One input plane of a transposed convolution, spread over the result.
template <class Number>
void spread_plane(const Axes& axes, const Number* input, const Number* filter, Accumulator<Number>* sums) {
  using Sum = Accumulator<Number>;
  for_each_tap(axes, [&](const std::array<std::int64_t, 3>& shifts) {
    const Sum factor = static_cast<Sum>(*filter++);
    std::array<Span, 3> spans{};
    for (std::size_t i = 0; i < 3; ++i) {
      spans[i] = positions(axes[i].input, axes[i].stride, shifts[i], axes[i].output);
    }
    for_each_row(axes, spans, shifts, axes[1].input, axes[2].input, axes[1].output, axes[2].output,
                 [&](std::int64_t from, std::int64_t to, std::int64_t count) {
                   for (std::int64_t i = 0; i < count; ++i) {
                     sums[to + i * axes[2].stride] += factor * static_cast<Sum>(input[from + i]);
                   }
                 });
  });
}

// Calls fill(n, output channel, sums) for each plane of the result and stores the sums, which begin with the bias.
template <class Number, class Fill>
Tensor plane_by_plane(const KernelContext& context, std::int64_t plane, Fill fill) {
  using Sum = Accumulator<Number>;
  Tensor result = context.result();
  Number* out = result.mutable_data<Number>().data();
  std::vector<Sum> sums(static_cast<std::size_t>(plane));
  for (std::int64_t n = 0; n < context.sizes[0]; ++n) {
    for (std::int64_t channel = 0; channel < context.sizes[1]; ++channel, out += plane) {
      Sum bias{};
      if (context.inputs.size() > 2) {
        bias = static_cast<Sum>(context.inputs[2].data<Number>()[static_cast<std::size_t>(channel)]);
      }
      std::ranges::fill(sums, bias);
      fill(n, channel, sums.data());
      std::ranges::transform(sums, out, [](Sum sum) { return static_cast<Number>(sum); });
    }
  }
  return result;
}

// What each tap of each channel meets at some places of the result, 0 outside of the input: columns of the matrix that
// the filters, as rows of another, are multiplied with.
class Patches {
 public:
  Patches(const Axes& axes, const float* input, std::int64_t channels)
      : axes_(axes), input_(input), channels_(channels), plane_(volume(axes, &Axis::input)) {
    is_pointwise_ = std::ranges::all_of(
        axes, [](const Axis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.input == axis.output; });
  }

  void fill(std::size_t first, std::size_t count, std::size_t width, double* panel) {
    if (is_pointwise_) {
      const float* from = input_ + first;
      for (std::int64_t c = 0; c < channels_; ++c, from += plane_, panel += width) std::copy_n(from, count, panel);
      return;
    }
    find_starts(first, count);
    const bool is_run =
        axes_[2].stride == 1 && starts_.front()[0] == starts_.back()[0] && starts_.front()[1] == starts_.back()[1];
    const float* plane = input_;
    for (std::int64_t c = 0; c < channels_; ++c, plane += plane_) {
      for_each_tap(axes_, [&](const std::array<std::int64_t, 3>& shifts) {
        if (is_run && is_inside(starts_.front(), shifts) && is_inside(starts_.back(), shifts)) {
          std::copy_n(plane + place(starts_.front(), shifts), count, panel);
        } else {
          for (std::size_t i = 0; i < count; ++i) {
            panel[i] = is_inside(starts_[i], shifts) ? static_cast<double>(plane[place(starts_[i], shifts)]) : 0;
          }
        }
        panel += width;
      });
    }
  }

 private:
  using Place = std::array<std::int64_t, 3>;

  // Where the windows of these places begin, before padding is taken off.
  void find_starts(std::size_t first, std::size_t count) {
    starts_.clear();
    for (std::size_t i = first; i < first + count; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t row = at / axes_[2].output;
      starts_.push_back({row / axes_[1].output * axes_[0].stride, row % axes_[1].output * axes_[1].stride,
                         at % axes_[2].output * axes_[2].stride});
    }
  }
  bool is_inside(const Place& start, const Place& shifts) const {
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t at = start[i] + shifts[i];
      if (at < 0 || at >= axes_[i].input) return false;
    }
    return true;
  }
  std::int64_t place(const Place& start, const Place& shifts) const {
    return ((start[0] + shifts[0]) * axes_[1].input + start[1] + shifts[1]) * axes_[2].input + start[2] + shifts[2];
  }

  const Axes& axes_;
  const float* input_;
  std::int64_t channels_;
  std::int64_t plane_;
  bool is_pointwise_ = false;
  std::vector<Place> starts_;
};

// Floats with many filters.
Tensor convolve_by_products(const KernelContext& context, const Axes& axes, std::int64_t groups) {
  Tensor result = context.result();
  const Tensor& weight = context.inputs[1];
  const std::int64_t channels = weight.size(1);
  const std::int64_t filters = weight.size(0) / groups;
  const std::int64_t depth = channels * volume(axes, &Axis::kernel);
  const std::int64_t columns = volume(axes, &Axis::output);
  const std::int64_t plane = volume(axes, &Axis::input);
  const float* bias = context.inputs.size() > 2 ? context.inputs[2].data<float>().data() : nullptr;
  for (std::int64_t group = 0; group < groups; ++group) {
    const PackedRows rows(weight.data<float>().data() + group * filters * depth, static_cast<std::size_t>(filters),
                          static_cast<std::size_t>(depth));
    for (std::int64_t n = 0; n < context.sizes[0]; ++n) {
      Patches patches(axes, context.inputs[0].data<float>().data() + (n * groups + group) * channels * plane, channels);
      const auto fill = [&](std::size_t first, std::size_t count, std::size_t width, double* panel) {
        patches.fill(first, count, width, panel);
      };
      multiply_floats(rows, static_cast<std::size_t>(columns), fill,
                      {.of_rows = bias == nullptr ? nullptr : bias + group * filters},
                      result.mutable_data<float>().data() + (n * groups + group) * filters * columns);
    }
  }
  return result;
}

Expected<Tensor> conv(const KernelContext& context) {
  const auto& attrs = context.as<ConvAttrs>();
  const Axes axes = axes_of(context, attrs);
  if (context.dtype == DType::kF32 &&
      is_worth_packing(static_cast<std::size_t>(context.inputs[1].size(0) / attrs.groups))) {
    return convolve_by_products(context, axes, attrs.groups);
  }
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    const Tensor& weight = context.inputs[1];
    const Number* input = context.inputs[0].data<Number>().data();
    const Number* filters = weight.data<Number>().data();
    const std::int64_t channels = weight.size(1);
    const std::int64_t filters_per_group = weight.size(0) / attrs.groups;
    const std::int64_t plane = volume(axes, &Axis::input);
    const std::int64_t filter_size = channels * volume(axes, &Axis::kernel);
    return plane_by_plane<Number>(
        context, volume(axes, &Axis::output), [&](std::int64_t n, std::int64_t filter, Accumulator<Number>* sums) {
          const std::int64_t group = filter / filters_per_group;
          const std::int64_t first = (n * attrs.groups + group) * channels;
          convolve_plane(axes, input + first * plane, filters + filter * filter_size, channels, sums);
        });
  });
}

Expected<Tensor> conv_transpose(const KernelContext& context) {
  const auto& attrs = context.as<ConvTransposeAttrs>();
  const Axes axes = axes_of(context, attrs);
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    const Tensor& weight = context.inputs[1];
    const Number* input = context.inputs[0].data<Number>().data();
    const Number* filters = weight.data<Number>().data();
    const std::int64_t per_group = weight.size(0) / attrs.groups;
    const std::int64_t results_per_group = weight.size(1);
    const std::int64_t plane = volume(axes, &Axis::input);
    const std::int64_t taps = volume(axes, &Axis::kernel);
    return plane_by_plane<Number>(
        context, volume(axes, &Axis::output), [&](std::int64_t n, std::int64_t channel, Accumulator<Number>* sums) {
          const std::int64_t group = channel / results_per_group;
          for (std::int64_t c = group * per_group; c < (group + 1) * per_group; ++c) {
            const Number* filter = filters + (c * results_per_group + channel % results_per_group) * taps;
            spread_plane(axes, input + (n * weight.size(0) + c) * plane, filter, sums);
          }
        });
  });
}

}  // namespace

std::span<const KernelDef> conv_kernels() {
  static const KernelDef kKernels[] = {
      {Op::kConv2d, conv},
      {Op::kConv3d, conv},
      {Op::kConvTranspose2d, conv_transpose},
      {Op::kConvTranspose3d, conv_transpose},
  };
  return kKernels;
}

}  // namespace isthmus
