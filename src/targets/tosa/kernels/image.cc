// Operators that go over images: pools and resizing. Images are [batch, height, width, channels].
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/untrusted_text.h"
#include "targets/tosa/arithmetic.h"
#include "targets/tosa/rules.h"

namespace isthmus::tosa {
namespace {

template <class Fields>
Expected<void> check_pool(const Site& site) {
  const auto& fields = site.fields<Fields>();
  const Operand& input = site.inputs[0];
  TRY(want_rank(input, "the input", 4));
  TRY(want_rank(site.output, "the output", 4));
  TRY(want_numbers(fields.kernel, "the kernel", 2, 1, kMaxKernel));
  TRY(want_numbers(fields.stride, "the stride", 2, 1, kMaxStride));
  TRY(want_numbers(fields.pad, "the padding", 4, 0, kMaxKernel));
  for (std::size_t i = 0; i < 2; ++i) {
    for (const std::int32_t pad : {fields.pad[2 * i], fields.pad[2 * i + 1]}) {
      if (pad >= fields.kernel[i]) {
        return bad_input(fmt::format("a padding of {} is not less than the kernel's {}", pad, fields.kernel[i]));
      }
    }
    TRY(want_steps(site.output, i + 1, input.size(i + 1) + fields.pad[2 * i] + fields.pad[2 * i + 1] - fields.kernel[i],
                   fields.stride[i]));
  }
  return want_sizes(site.output, "the output",
                    {input.size(0), site.output.size(1), site.output.size(2), input.size(3)});
}
Expected<void> check_avg_pool(const Site& site) {
  TRY(check_pool<AvgPool>(site));
  if (site.fields<AvgPool>().acc_type != Type::kI32) {
    return bad_input(fmt::format("sums in {} instead of i32", name_of(site.fields<AvgPool>().acc_type)));
  }
  TRY(want_zero_point(site.inputs[1], "the zero point of the input"));
  return want_zero_point(site.inputs[2], "the zero point of the output");
}
template <class Fields>
std::uint64_t pool_work(const Site& site) {
  const auto& kernel = site.fields<Fields>().kernel;
  return static_cast<std::uint64_t>(site.output.count) * static_cast<std::uint64_t>(kernel[0]) *
         static_cast<std::uint64_t>(kernel[1]);
}

// Calls use(position in the output, first and last row and column of the input) for each place of the window, which is
// cut at the edges.
struct Window {
  std::int64_t top, bottom, left, right;
};
template <class Fields, class Use>
void slide(const Site& site, Use use) {
  const auto& fields = site.fields<Fields>();
  const Operand& input = site.inputs[0];
  const Operand& output = site.output;
  for (std::int64_t n = 0; n < output.size(0); ++n) {
    for (std::int64_t oy = 0; oy < output.size(1); ++oy) {
      for (std::int64_t ox = 0; ox < output.size(2); ++ox) {
        const std::int64_t y = oy * fields.stride[0] - fields.pad[0];
        const std::int64_t x = ox * fields.stride[1] - fields.pad[2];
        const Window window{std::max<std::int64_t>(y, 0), std::min(y + fields.kernel[0], input.size(1)),
                            std::max<std::int64_t>(x, 0), std::min(x + fields.kernel[1], input.size(2))};
        use(n, (n * output.size(1) + oy) * output.size(2) + ox, window);
      }
    }
  }
}

Expected<Kernel> max_pool_kernel(const SharedSite& site, Resources&) {
  return with_number(site->output.type, [&]<class Number>(Number) {
    return Kernel{[site](const Call& call) -> Expected<void> {
      const Number* in = call.input<Number>(0);
      Number* out = call.result<Number>();
      const Operand& input = site->inputs[0];
      const std::int64_t channels = input.size(3);
      slide<MaxPool>(*site, [&](std::int64_t n, std::int64_t place, const Window& window) {
        Number* pixel = out + place * channels;
        std::fill_n(pixel, channels, std::numeric_limits<Number>::min());
        for (std::int64_t y = window.top; y < window.bottom; ++y) {
          for (std::int64_t x = window.left; x < window.right; ++x) {
            const Number* from = in + ((n * input.size(1) + y) * input.size(2) + x) * channels;
            for (std::int64_t c = 0; c < channels; ++c) pixel[c] = std::max(pixel[c], from[c]);
          }
        }
      });
      return {};
    }};
  });
}

Expected<Kernel> avg_pool_kernel(const SharedSite& site, Resources&) {
  const std::int64_t input_zero = site->inputs[1].at(0);
  const std::int64_t output_zero = site->inputs[2].at(0);
  const auto channels = static_cast<std::size_t>(site->output.size(3));
  return with_number(site->output.type, [&]<class Number>(Number) {
    const auto run = [site, input_zero, output_zero](const Call& call) -> Expected<void> {
      const Number* in = call.input<Number>(0);
      Number* out = call.result<Number>();
      const Operand& input = site->inputs[0];
      const std::int64_t count = input.size(3);
      auto* sums = reinterpret_cast<std::int64_t*>(call.scratch);
      slide<AvgPool>(*site, [&](std::int64_t n, std::int64_t place, const Window& window) {
        std::fill_n(sums, count, std::int64_t{0});
        for (std::int64_t y = window.top; y < window.bottom; ++y) {
          for (std::int64_t x = window.left; x < window.right; ++x) {
            const Number* from = in + ((n * input.size(1) + y) * input.size(2) + x) * count;
            for (std::int64_t c = 0; c < count; ++c) sums[c] += from[c] - input_zero;
          }
        }
        // Padding does not count.
        const Scale scale =
            reciprocal(static_cast<std::uint32_t>((window.bottom - window.top) * (window.right - window.left)));
        for (std::int64_t c = 0; c < count; ++c) {
          const auto sum = wrapped<std::int32_t>(sums[c]);
          out[place * count + c] = saturated<Number>(scaled(sum, scale.multiplier, scale.shift) + output_zero);
        }
      });
      return {};
    };
    return Kernel{run, channels * sizeof(std::int64_t)};
  });
}

// The numbers along one axis: position p of the output is at (p * denominator + offset) / numerator of the input.
struct Axis1d {
  std::int64_t numerator, denominator, offset, border;

  std::int64_t position(std::int64_t out) const { return out * denominator + offset; }
};
Axis1d sampled_axis(const Site& site, std::int64_t axis) {
  return {site.inputs[1].at(2 * axis), site.inputs[1].at(2 * axis + 1), site.inputs[2].at(axis),
          site.inputs[3].at(axis)};
}
Expected<void> check_resize_axis(const Site& site, std::size_t axis) {
  constexpr std::int64_t kMaxSize = 16383;
  constexpr std::int64_t kMaxNumerator = 2048;
  constexpr std::int64_t kMaxShrink = 16;
  const std::int64_t from = site.inputs[0].size(axis + 1);
  const std::int64_t to = site.output.size(axis + 1);
  const Axis1d a = sampled_axis(site, static_cast<std::int64_t>(axis));
  if (from > kMaxSize || to > kMaxSize)
    return bad_input(fmt::format("{} become {}, but {} are the most", from, to, kMaxSize));
  if (a.numerator < 1 || a.numerator > kMaxNumerator || a.denominator < 1 ||
      a.denominator >= kMaxShrink * a.numerator) {
    return bad_input(fmt::format("a scale of {}/{}", a.numerator, a.denominator));
  }
  if (a.numerator > kMaxScale * a.denominator) {
    return bad_input(fmt::format("a scale of {}/{}, and level 8K allows {}", a.numerator, a.denominator, kMaxScale));
  }
  if (a.offset < -a.numerator || a.offset >= kMaxShrink * a.numerator) {
    return bad_input(fmt::format("an offset of {} for a scale of {}/{}", a.offset, a.numerator, a.denominator));
  }
  if (a.border < -kMaxShrink * a.numerator || a.border >= a.numerator) {
    return bad_input(fmt::format("a border of {} for a scale of {}/{}", a.border, a.numerator, a.denominator));
  }
  return want_steps(site.output, axis + 1, (from - 1) * a.numerator - a.offset + a.border, a.denominator);
}
Expected<void> check_resize(const Site& site) {
  const Operand& input = site.inputs[0];
  TRY(want_rank(input, "the input", 4));
  TRY(want_rank(site.output, "the output", 4));
  TRY(want_sizes(site.inputs[1], "the scale", {4}));
  TRY(want_sizes(site.inputs[2], "the offset", {2}));
  TRY(want_sizes(site.inputs[3], "the border", {2}));
  TRY(check_resize_axis(site, 0));
  TRY(check_resize_axis(site, 1));
  TRY(want_sizes(site.output, "the output", {input.size(0), site.output.size(1), site.output.size(2), input.size(3)}));
  const ResizeMode mode = site.fields<Resize>().mode;
  const bool keeps_type = site.output.type == input.type;
  if ((mode == ResizeMode::kNearest && keeps_type) || (mode == ResizeMode::kBilinear && !keeps_type)) return {};
  return bad_input(fmt::format("mode {} does not make {} of {}", static_cast<int>(mode), name_of(site.output.type),
                               name_of(input.type)));
}

// Two neighbours of the input and how far behind the first one a position is, in parts of the numerator.
struct Between {
  std::int64_t first, second, rest;
};
Between between(const Axis1d& axis, std::int64_t out, std::int64_t size) {
  const std::int64_t position = axis.position(out);
  std::int64_t whole = position / axis.numerator;
  if (whole * axis.numerator > position) --whole;
  return {std::clamp<std::int64_t>(whole, 0, size - 1), std::clamp<std::int64_t>(whole + 1, 0, size - 1),
          position - whole * axis.numerator};
}

template <class In, class Out>
Kernel resize(const SharedSite& site, bool is_nearest) {
  return {[site, is_nearest](const Call& call) -> Expected<void> {
    const In* in = call.input<In>(0);
    Out* out = call.result<Out>();
    const Operand& input = site->inputs[0];
    const Axis1d vertical = sampled_axis(*site, 0);
    const Axis1d horizontal = sampled_axis(*site, 1);
    const std::int64_t channels = input.size(3);
    const auto pixel = [&](std::int64_t n, std::int64_t y, std::int64_t x) {
      return in + ((n * input.size(1) + y) * input.size(2) + x) * channels;
    };
    for (std::int64_t n = 0; n < input.size(0); ++n) {
      for (std::int64_t oy = 0; oy < site->output.size(1); ++oy) {
        const Between y = between(vertical, oy, input.size(1));
        for (std::int64_t ox = 0; ox < site->output.size(2); ++ox, out += channels) {
          const Between x = between(horizontal, ox, input.size(2));
          if (is_nearest) {
            const In* from = pixel(n, 2 * y.rest >= vertical.numerator ? y.second : y.first,
                                   2 * x.rest >= horizontal.numerator ? x.second : x.first);
            for (std::int64_t c = 0; c < channels; ++c) out[c] = static_cast<Out>(from[c]);
            continue;
          }
          const In* a = pixel(n, y.first, x.first);
          const In* b = pixel(n, y.first, x.second);
          const In* c = pixel(n, y.second, x.first);
          const In* d = pixel(n, y.second, x.second);
          for (std::int64_t i = 0; i < channels; ++i) {
            const std::int64_t upper = a[i] * (horizontal.numerator - x.rest) + b[i] * x.rest;
            const std::int64_t lower = c[i] * (horizontal.numerator - x.rest) + d[i] * x.rest;
            out[i] = static_cast<Out>(upper * (vertical.numerator - y.rest) + lower * y.rest);
          }
        }
      }
    }
    return {};
  }};
}
Expected<Kernel> resize_kernel(const SharedSite& site, Resources&) {
  const bool is_nearest = site->fields<Resize>().mode == ResizeMode::kNearest;
  return with_number(site->inputs[0].type, [&]<class In>(In) {
    return with_number(site->output.type, [&]<class Out>(Out) { return resize<In, Out>(site, is_nearest); });
  });
}

constexpr Rule kImageRules[] = {
    {.op = Op::kAvgPool2d,
     .types = "i8/i16 =0 =0 > =0",
     .check = check_avg_pool,
     .plain = avg_pool_kernel,
     .work = pool_work<AvgPool>},
    {.op = Op::kMaxPool2d,
     .types = "i8/i16 > =0",
     .check = check_pool<MaxPool>,
     .plain = max_pool_kernel,
     .work = pool_work<MaxPool>},
    {.op = Op::kResize,
     .types = "i8 shape shape shape > i8/i32 | i16 shape shape shape > i16/i48",
     .check = check_resize,
     .plain = resize_kernel},
};

}  // namespace

std::span<const Rule> image_rules() { return kImageRules; }

}  // namespace isthmus::tosa
