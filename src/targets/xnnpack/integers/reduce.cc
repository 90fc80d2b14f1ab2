// Integer kernels: means, whose sums are exact.
#include <algorithm>

#include "interpret/quantized_types.h"
#include "targets/xnnpack/integers/integer_kernels.h"
#include "targets/xnnpack/integers/requantize.h"

namespace isthmus::xnnpack {
namespace {

// How many numbers are reduced to one.
std::int64_t reduced_count(const Tensor& input, const Ints& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= input.size(axis);
  return count;
}

// Sums of quantized values less the zero point, in the order of the result.
std::vector<std::int64_t> sums_over(const Tensor& input, const Ints& axes, std::int32_t zero_point,
                                    std::int64_t result_count) {
  std::vector<std::int64_t> strides(input.sizes().size(), 0);  // in the result; 0 along the axes
  std::int64_t stride = 1;
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end()) continue;
    strides[axis] = stride;
    stride *= input.sizes()[axis];
  }
  std::vector<std::int64_t> sums(static_cast<std::size_t>(result_count), 0);
  if (input.count() == 0) return sums;
  std::vector<std::int64_t> index(strides.size(), 0);
  with_quantized_type(input.dtype(), [&]<class Int>(Int) {
    std::int64_t place = 0;
    for (const Int q : input.data<Int>()) {
      sums[static_cast<std::size_t>(place)] += std::int64_t{q} - zero_point;
      for (std::size_t axis = index.size(); axis-- > 0;) {
        place += strides[axis];
        if (++index[axis] < input.sizes()[axis]) break;
        place -= strides[axis] * index[axis];
        index[axis] = 0;
      }
    }
  });
  return sums;
}

Expected<Tensor> mean_quantized(const IntegerContext& context) {
  const Ints& axes = context.as<ReduceAttrs>().axes;
  const std::int64_t count = reduced_count(context.input(0), axes);
  if (count == 0) return bad_input("the mean of an empty tensor is undefined");
  Tensor result = context.plain.result();
  const float factor = context.quant(0).scale() / context.quant().scale() * (1.0f / static_cast<float>(count));
  const Requantizer requantizer(factor, context.plain.dtype, context.quant().zero_point);
  const auto sums = sums_over(context.input(0), axes, context.quant(0).zero_point, result.count());
  with_quantized_type(context.plain.dtype, [&]<class Int>(Int) {
    std::ranges::transform(sums, result.mutable_data<Int>().begin(),
                           [&](std::int64_t sum) { return static_cast<Int>(requantizer(sum)); });
  });
  return result;
}

// The library has it over images alone.
std::optional<std::string> refuse_quantized_mean(const IntegerSite& site) {
  if (site.type(0).rank() == 4 && site.as<ReduceAttrs>().axes == Ints{2, 3}) return std::nullopt;
  return "a mean over axes other than height and width";
}

constexpr IntegerKernelRow kReduceKernels[] = {
    {.op = Op::kMean, .kernel = mean_quantized, .refusal = refuse_quantized_mean},
};

}  // namespace

std::span<const IntegerKernelRow> integer_reduce_kernels() { return kReduceKernels; }

}  // namespace isthmus::xnnpack
