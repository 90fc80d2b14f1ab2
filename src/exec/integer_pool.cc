// Integer kernels of pools that average. Those that take the greatest code are in the file of movements.
#include <algorithm>

#include "exec/integer_codes.h"
#include "exec/integer_constants.h"
#include "exec/integer_kernel.h"

namespace isthmus {
namespace {

// The part of a window that lies inside: first .. end along one axis.
struct Inside {
  std::int64_t first;
  std::int64_t end;
};
Inside inside(std::int64_t place, std::int64_t kernel, std::int64_t stride, std::int64_t before, std::int64_t size) {
  const std::int64_t begin = place * stride - before;
  return {std::max<std::int64_t>(begin, 0), std::min(begin + kernel, size)};
}

// AVG_POOL2D: the sum of what lies inside, less the zero point, times the reciprocal of its count.
Expected<Tensor> average_codes(const IntegerContext& context) {
  const auto& attrs = context.as<AvgPoolAttrs>();
  const Tensor& input = context.input(0);
  Tensor result = context.plain.result();
  const CodeRange range = code_range(context.plain.dtype);
  const std::int64_t height = input.size(2);
  const std::int64_t width = input.size(3);
  const std::int64_t zero_point = context.quant().zero_point;
  if (result.count() == 0) return result;
  return with_codes(context.plain.dtype, [&]<class Code>(Code) -> Expected<Tensor> {
    const Code* plane = input.data<Code>().data();
    Code* out = result.mutable_data<Code>().data();
    for (std::int64_t i = 0; i < result.size(0) * result.size(1); ++i, plane += height * width) {
      for (std::int64_t y = 0; y < result.size(2); ++y) {
        const Inside rows = inside(y, attrs.kernel[0], attrs.stride[0], attrs.padding[0], height);
        for (std::int64_t x = 0; x < result.size(3); ++x) {
          const Inside columns = inside(x, attrs.kernel[1], attrs.stride[1], attrs.padding[2], width);
          if (rows.first >= rows.end || columns.first >= columns.end) {
            return bad_input("a window of a pool holds nothing but padding");
          }
          std::int64_t sum = 0;
          for (std::int64_t at_y = rows.first; at_y < rows.end; ++at_y) {
            for (std::int64_t at_x = columns.first; at_x < columns.end; ++at_x) {
              sum += plane[at_y * width + at_x] - zero_point;
            }
          }
          const auto count = static_cast<std::uint32_t>((rows.end - rows.first) * (columns.end - columns.first));
          const std::int64_t code = reciprocal_scale(count).apply(static_cast<std::int32_t>(sum)) + zero_point;
          *out++ = static_cast<Code>(std::clamp<std::int64_t>(code, range.min, range.max));
        }
      }
    }
    return result;
  });
}

std::optional<std::string> refuse_average(const IntegerSite& site) {
  const auto& attrs = site.as<AvgPoolAttrs>();
  if (attrs.divisor != 0) return "a divisor";
  if (attrs.count_include_pad && attrs.padding != Ints{0, 0, 0, 0}) return "a mean that counts the padding";
  if (site.type(0).rank() != 4) return "a pool without a batch";
  if (attrs.kernel[0] > 256 || attrs.kernel[1] > 256) return "a large window";
  return std::nullopt;
}

}  // namespace

std::span<const IntegerKernelDef> integer_pool_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kAvgPool2d, .kernel = average_codes, .in_xnnpack = false, .shares = true, .refusal = refuse_average},
  };
  return kKernels;
}

}  // namespace isthmus
