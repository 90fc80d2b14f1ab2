// Integer kernels: resizing images.
#include <algorithm>
#include <cmath>

#include "interpret/integer_kernel.h"
#include "interpret/quantized_types.h"
#include "targets/xnnpack/integers/integer_kernels.h"

namespace isthmus::xnnpack {
namespace {

// A place of the result between two of the input along one axis; the share of the second in parts of 2^11.
struct Between {
  std::int64_t first;
  std::int64_t second;
  std::int32_t share;
};

// In f32 step by step as the library computes them.
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

Expected<Tensor> resize_quantized(const IntegerContext& context) {
  const auto& attrs = context.as<ResizeAttrs>();
  const Tensor& input = context.input(0);
  Tensor result = context.plain.result();
  if (result.count() == 0) return result;
  if (input.count() == 0) return bad_input("resize2d: pixels are asked of an image that has none");
  const std::int64_t width = input.size(3);
  const auto rows = places_between(input.size(2), result.size(2), attrs.align_corners);
  const auto columns = places_between(width, result.size(3), attrs.align_corners);
  with_quantized_type(context.plain.dtype, [&]<class Int>(Int) {
    const Int* plane = input.data<Int>().data();
    Int* out = result.mutable_data<Int>().data();
    for (std::int64_t i = 0; i < result.size(0) * result.size(1); ++i, plane += input.size(2) * width) {
      for (const Between& row : rows) {
        const Int* const top = plane + row.first * width;
        const Int* const bottom = plane + row.second * width;
        for (const Between& column : columns) {
          const auto mixed = [&](const Int* line) {
            const std::int32_t left = line[column.first];
            return left * 2048 + (line[column.second] - left) * column.share;
          };
          const std::int64_t upper = mixed(top);
          const std::int64_t lower = mixed(bottom);
          *out++ = static_cast<Int>((upper * 2048 + (lower - upper) * row.share + (1 << 21)) >> 22);
        }
      }
    }
  });
  return result;
}

std::optional<std::string> refuse_quantized_resize(const IntegerSite& site) {
  if (site.as<ResizeAttrs>().mode != ResizeMode::kLinear) return "not linear";
  return std::nullopt;
}

constexpr IntegerKernelRow kImageKernels[] = {
    {.op = Op::kResize2d, .kernel = resize_quantized, .shares = true, .refusal = refuse_quantized_resize},
};

}  // namespace

std::span<const IntegerKernelRow> integer_image_kernels() { return kImageKernels; }

}  // namespace isthmus::xnnpack
