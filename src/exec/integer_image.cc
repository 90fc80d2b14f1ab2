// Integer kernels of resizing images.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "exec/integer_codes.h"
#include "exec/integer_kernel.h"
#include "exec/integer_requantize.h"

namespace isthmus {
namespace {

// A place of the result between two of the input along one axis; the share of the second in parts of 2^11.
struct Between {
  std::int64_t first;
  std::int64_t second;
  std::int32_t share;
};

// XNNPACK's positions, in f32 step by step as it computes them.
std::vector<Between> places_between(std::int64_t from, std::int64_t to, bool align_corners) {
  std::vector<Between> result;
  const std::int64_t less = align_corners && to != 1 ? 1 : 0;
  const float scale = static_cast<float>(from - less) / static_cast<float>(to - less);
  const float offset = align_corners ? 0.0f : 0.5f * scale - 0.5f;
  for (std::int64_t i = 0; i < to; ++i) {
    const float at = static_cast<float>(i) * scale + offset;
    const float bounded = std::min(std::max(at, 0.0f), static_cast<float>(from - 1));
    const auto first = static_cast<std::int64_t>(bounded);
    const float share = bounded - static_cast<float>(first);
    result.push_back({first, std::min(first + 1, from - 1), static_cast<std::int32_t>(std::lrint(share * 0x1p11f))});
  }
  return result;
}

Expected<Tensor> resize_by_floats(const IntegerContext& context) {
  const auto& attrs = context.as<ResizeAttrs>();
  const Tensor& input = context.input(0);
  Tensor result = context.plain.result();
  if (result.count() == 0) return result;
  if (input.count() == 0) return bad_input("resize2d: pixels are asked of an image that has none");
  const std::int64_t width = input.size(3);
  const auto rows = places_between(input.size(2), result.size(2), attrs.align_corners);
  const auto columns = places_between(width, result.size(3), attrs.align_corners);
  with_codes(context.plain.dtype, [&]<class Code>(Code) {
    const Code* plane = input.data<Code>().data();
    Code* out = result.mutable_data<Code>().data();
    for (std::int64_t i = 0; i < result.size(0) * result.size(1); ++i, plane += input.size(2) * width) {
      for (const Between& row : rows) {
        const Code* const top = plane + row.first * width;
        const Code* const bottom = plane + row.second * width;
        for (const Between& column : columns) {
          const auto mixed = [&](const Code* line) {
            const std::int32_t left = line[column.first];
            return left * 2048 + (line[column.second] - left) * column.share;
          };
          const std::int64_t upper = mixed(top);
          const std::int64_t lower = mixed(bottom);
          *out++ = static_cast<Code>((upper * 2048 + (lower - upper) * row.share + (1 << 21)) >> 22);
        }
      }
    }
  });
  return result;
}

// Where TOSA's RESIZE looks, along one axis: the share of the second place in parts of n.
struct Lattice {
  std::int64_t n;
  std::vector<Between> places;
};
Lattice lattice_of(const ResizeAxis& axis, std::int64_t from, std::int64_t to) {
  Lattice result{axis.n, {}};
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t at = i * axis.d + axis.offset;
    const std::int64_t whole = at >= 0 ? at / axis.n : -((-at + axis.n - 1) / axis.n);
    result.places.push_back({std::clamp<std::int64_t>(whole, 0, from - 1),
                             std::clamp<std::int64_t>(whole + 1, 0, from - 1),
                             static_cast<std::int32_t>(at - whole * axis.n)});
  }
  return result;
}

// RESIZE of codes, which carry a factor of n * n where they are mixed, and RESCALE by 1 / (n * n). Zero points stay:
// the shares add up.
Expected<Tensor> resize_by_integers(const IntegerContext& context) {
  const auto& attrs = context.as<ResizeAttrs>();
  const Tensor& input = context.input(0);
  Tensor result = context.plain.result();
  if (result.count() == 0) return result;
  if (input.count() == 0) return bad_input("resize2d: pixels are asked of an image that has none");
  const std::int64_t width = input.size(3);
  std::array<Lattice, 2> axes;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto at = static_cast<std::int64_t>(i + 2);
    const auto axis = resize_axis(attrs, i, input.size(at), result.size(at));
    if (!axis) return bad_input("a resize by another ratio than that of the sizes");
    axes[i] = lattice_of(*axis, input.size(at), result.size(at));
  }
  const bool is_nearest = attrs.mode != ResizeMode::kLinear;
  const int bits = input.dtype() == DType::kI16 ? 48 : 32;
  const Factor factor{1, 1 / (static_cast<double>(axes[0].n) * static_cast<double>(axes[1].n))};
  const auto requantizer = *Requantizer::make(context.arithmetic, factor, bits, context.plain.dtype, 0);
  with_codes(context.plain.dtype, [&]<class Code>(Code) {
    const Code* plane = input.data<Code>().data();
    Code* out = result.mutable_data<Code>().data();
    for (std::int64_t i = 0; i < result.size(0) * result.size(1); ++i, plane += input.size(2) * width) {
      for (const Between& row : axes[0].places) {
        for (const Between& column : axes[1].places) {
          const auto mixed = [&](std::int64_t y) {
            const std::int64_t left = plane[y * width + column.first];
            const std::int64_t right = plane[y * width + column.second];
            return left * (axes[1].n - column.share) + right * column.share;
          };
          if (is_nearest) {
            const std::int64_t y = 2 * row.share < axes[0].n ? row.first : row.second;
            *out++ = plane[y * width + (2 * column.share < axes[1].n ? column.first : column.second)];
          } else {
            const std::int64_t sum = mixed(row.first) * (axes[0].n - row.share) + mixed(row.second) * row.share;
            *out++ = static_cast<Code>(requantizer(sum));
          }
        }
      }
    }
  });
  return result;
}

Expected<Tensor> resize_codes(const IntegerContext& context) {
  return context.arithmetic == Arithmetic::kXnnpack ? resize_by_floats(context) : resize_by_integers(context);
}

std::optional<std::string> refuse_resize_codes(const IntegerSite& site) {
  const auto& attrs = site.as<ResizeAttrs>();
  if (site.arithmetic == Arithmetic::kXnnpack) {
    if (attrs.mode != ResizeMode::kLinear) return "not linear";
    return std::nullopt;
  }
  // Sums of 127 * n * n fit 32 bits, and RESIZE has no larger n.
  constexpr std::int64_t kMostN = 2048;
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim from = site.type(0).shape[i + 2];
    const Dim to = site.type().shape[i + 2];
    if (!from.is_fixed() || !to.is_fixed() || from.value() < 1 || to.value() < 1) return "a size that is not fixed";
    const auto axis = resize_axis(attrs, i, from.value(), to.value());
    if (!axis) return "cubic, or by another ratio than that of the sizes";
    if (axis->n > kMostN) return fmt::format("a ratio of {} to {}", axis->n, axis->d);
  }
  return std::nullopt;
}

}  // namespace

std::span<const IntegerKernelDef> integer_image_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kResize2d, .kernel = resize_codes, .shares = true, .refusal = refuse_resize_codes},
  };
  return kKernels;
}

}  // namespace isthmus
