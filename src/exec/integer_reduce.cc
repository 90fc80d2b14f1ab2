// Integer kernels of sums: exact in integers, then one step to codes.
#include <fmt/format.h>

#include <algorithm>

#include "exec/integer_codes.h"
#include "exec/integer_kernel.h"
#include "exec/integer_requantize.h"

namespace isthmus {
namespace {

// How many numbers are reduced to one.
std::int64_t reduced_count(const Tensor& input, const Ints& axes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes) count *= input.size(axis);
  return count;
}

// Sums of codes less the zero point, in the order of the result.
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
  with_codes(input.dtype(), [&]<class Code>(Code) {
    std::int64_t place = 0;
    for (const Code code : input.data<Code>()) {
      sums[static_cast<std::size_t>(place)] += std::int64_t{code} - zero_point;
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

// TOSA: RESCALE to 32 bits, REDUCE_SUM for each axis, RESCALE to codes.
Expected<Tensor> summed_codes(const IntegerContext& context, const Factor& factor) {
  Tensor result = context.plain.result();
  const auto requantizer =
      Requantizer::make(context.arithmetic, factor, 32, context.plain.dtype, context.quant().zero_point);
  if (!requantizer) return bad_input(fmt::format("a ratio of scales of {}", factor.exact));
  const auto sums =
      sums_over(context.input(0), context.as<ReduceAttrs>().axes, context.quant(0).zero_point, result.count());
  with_codes(context.plain.dtype, [&]<class Code>(Code) {
    std::ranges::transform(sums, result.mutable_data<Code>().begin(),
                           [&](std::int64_t sum) { return static_cast<Code>((*requantizer)(sum)); });
  });
  return result;
}

Expected<Tensor> mean_codes(const IntegerContext& context) {
  const std::int64_t count = reduced_count(context.input(0), context.as<ReduceAttrs>().axes);
  if (count == 0) return bad_input("the mean of nothing has no code");
  return summed_codes(context, mean_factor(context.quant(0).scale(), count, context.quant().scale()));
}

Expected<Tensor> total_codes(const IntegerContext& context) {
  return summed_codes(context, mean_factor(context.quant(0).scale(), 1, context.quant().scale()));
}

// So many codes of this width surely fit a sum of 32 bits.
std::optional<std::string> refuse_count(const IntegerSite& site) {
  const std::int64_t most = site.type(0).dtype == DType::kI16 ? 1 << 15 : 1 << 23;
  std::int64_t count = 1;
  for (const std::int64_t axis : site.as<ReduceAttrs>().axes) {
    const Dim size = site.type(0).shape[static_cast<std::size_t>(axis)];
    if (size.is_fixed()) count *= std::min(size.value(), most + 1);
    if (count > most) return fmt::format("{} codes of {} in one sum", count, name_of(site.type(0).dtype));
  }
  return std::nullopt;
}

std::optional<std::string> refuse_mean_codes(const IntegerSite& site) {
  if (site.arithmetic == Arithmetic::kTosa) return refuse_count(site);
  // The library has it over images alone.
  const Ints& axes = site.as<ReduceAttrs>().axes;
  if (site.type(0).rank() == 4 && axes == Ints{2, 3}) return std::nullopt;
  return "a mean over other axes than those of an image";
}

}  // namespace

std::span<const IntegerKernelDef> integer_reduce_kernels() {
  static const IntegerKernelDef kKernels[] = {
      {.op = Op::kMean, .kernel = mean_codes, .refusal = refuse_mean_codes},
      {.op = Op::kSum, .kernel = total_codes, .in_xnnpack = false, .refusal = refuse_count},
  };
  return kKernels;
}

}  // namespace isthmus
