// The table of limits: level 8K of TOSA 1.0 for all, and what Arm's compiler documents of its devices.
#include "targets/ethos_u/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace isthmus::ethos_u {
namespace {

using tosa::Type;
using Violation = std::optional<std::string>;

constexpr std::int64_t kMaxLevel = 8192;

Violation met() { return std::nullopt; }
std::int64_t product(const Ints& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{1}, std::multiplies<>());
}
std::string text(const TosaTensor& tensor) {
  return std::string(tosa::name_of(tensor.type)) + numbers_text(tensor.shape);
}

Violation missing(const TosaForm&) { return "it is not there"; }

// Types.
template <Type... kTypes>
Violation input_types(const TosaForm& form) {
  for (const TosaTensor& input : form.inputs) {
    if (((input.type != kTypes) && ...)) return text(input);
  }
  return met();
}
template <Type... kTypes>
Violation first_input_type(const TosaForm& form) {
  if (((form.inputs[0].type != kTypes) && ...)) return text(form.inputs[0]);
  return met();
}
Violation no_bools(const TosaForm& form) {
  const auto is_bool = [](const TosaTensor& tensor) { return tensor.type == Type::kBool; };
  const auto found = std::ranges::find_if(form.inputs, is_bool);
  if (found != form.inputs.end()) return text(*found);
  return is_bool(form.output) ? Violation(text(form.output)) : met();
}
Violation narrows_i32(const TosaForm& form) {
  if (form.inputs[0].type != Type::kI32 || form.output.type == Type::kI32) return met();
  return fmt::format("i32 to {}", tosa::name_of(form.output.type));
}
Violation wide_to_wide(const TosaForm& form) {
  if (form.inputs[0].type != Type::kI32 || form.output.type != Type::kI32) return met();
  return text(form.inputs[0]);
}

// Ranks, sizes, lists.
template <std::size_t kMax>
Violation rank(const TosaForm& form) {
  if (form.output.shape.size() > kMax) return text(form.output);
  for (const TosaTensor& input : form.inputs) {
    if (input.shape.size() > kMax) return text(input);
  }
  return met();
}
template <std::size_t kMax>
Violation list_length(const TosaForm& form) {
  return form.inputs.size() <= kMax ? met() : Violation(fmt::format("{}", form.inputs.size()));
}
// All axes but the batch's.
Violation image_sides(const TosaForm& form) {
  for (const TosaTensor* tensor : {&form.inputs[0], static_cast<const TosaTensor*>(&form.output)}) {
    for (std::size_t i = 1; i < tensor->shape.size(); ++i) {
      if (tensor->shape[i] > kMaxCount) return text(*tensor);
    }
  }
  return met();
}
Violation sums_beside(const TosaForm& form) {
  const Ints& shape = form.inputs[0].shape;
  const auto axis = static_cast<std::ptrdiff_t>(form.axis);
  const Ints before(shape.begin(), shape.begin() + axis);
  const Ints after(shape.begin() + axis + 1, shape.end());
  const bool is_met =
      shape[static_cast<std::size_t>(axis)] <= kMaxCount && product(before) <= kMaxCount && product(after) <= kMaxCount;
  return is_met ? met() : Violation(fmt::format("axis {} of {}", axis, text(form.inputs[0])));
}
Violation transposed_product(const TosaForm& form) {
  Ints sizes = form.inputs[0].shape;
  if (sizes.size() <= 2 || form.inputs[0].type == Type::kI32) return met();
  std::ranges::sort(sizes);
  return product({sizes.begin() + 2, sizes.end()}) <= kMaxCount ? met() : Violation(text(form.inputs[0]));
}
Violation transposed_i32(const TosaForm& form) {
  return form.inputs[0].type == Type::kI32 && form.inputs[0].shape.size() > 4 ? Violation(text(form.inputs[0])) : met();
}

// Windows.
template <std::int64_t kMax>
Violation strides(const TosaForm& form) {
  const bool is_met = std::ranges::all_of(form.stride, [](auto stride) { return stride >= 1 && stride <= kMax; });
  return is_met ? met() : Violation(numbers_text(form.stride));
}
template <std::int64_t kMaxHeight, std::int64_t kMaxArea>
Violation kernel(const TosaForm& form) {
  const bool is_met = form.kernel[0] <= kMaxHeight && product(form.kernel) <= kMaxArea;
  return is_met ? met() : Violation(numbers_text(form.kernel));
}
Violation level_window(const TosaForm& form) {
  const auto is_met = [](std::int64_t number) { return number <= kMaxLevel; };
  for (std::size_t i = 0; i < form.kernel.size(); ++i) {
    const std::int64_t dilation = form.dilation.empty() ? 1 : form.dilation[i];
    if (!is_met(form.kernel[i] * dilation)) return numbers_text(form.kernel);
  }
  return std::ranges::all_of(form.pad, is_met) ? met() : Violation(numbers_text(form.pad));
}
Violation pad_in_window(const TosaForm& form) {
  for (std::size_t i = 0; i < form.pad.size(); ++i) {
    if (form.pad[i] >= form.kernel[i / 2]) return numbers_text(form.pad);
  }
  return met();
}
Violation cut_in_window(const TosaForm& form) {
  for (std::size_t i = 0; i < form.pad.size(); ++i) {
    if (form.pad[i] <= -form.kernel[i / 2]) return numbers_text(form.pad);
  }
  return met();
}
Violation one_image(const TosaForm& form) {
  return form.inputs[0].shape[0] == 1 ? met() : Violation(text(form.inputs[0]));
}
Violation padded_kernel(const TosaForm& form) {
  const bool is_padded = std::ranges::any_of(form.pad, [](auto pad) { return pad != 0; });
  const bool is_met = !is_padded || (form.kernel[0] <= 8 && form.kernel[1] <= 8);
  return is_met ? met() : Violation(numbers_text(form.kernel));
}
// Weights of 8 bits: their magnitudes add up to no more, whatever they are.
Violation taps(const TosaForm& form) {
  const Ints& weight = form.inputs[1].shape;
  const std::int64_t count =
      form.op == tosa::Op::kDepthwiseConv2d ? weight[0] * weight[1] : product(weight) / weight[0];
  return count <= kMaxCount ? met() : Violation(fmt::format("{}", count));
}
Violation transposed_strides(const TosaForm& form) {
  const Ints& image = form.inputs[0].shape;
  const bool is_square = form.stride == Ints{1, 1} || form.stride == Ints{2, 2};
  const bool is_row = form.stride == Ints{1, 2} && image[1] == 1 && form.kernel[0] == 1;
  const bool is_column = form.stride == Ints{2, 1} && image[2] == 1 && form.kernel[1] == 1;
  return is_square || is_row || is_column ? met() : Violation(numbers_text(form.stride));
}

// Others.
Violation last_axis(const TosaForm& form) {
  return form.axis + 1 == std::ssize(form.inputs[0].shape) ? met() : Violation(fmt::format("axis {}", form.axis));
}
Violation last_size(const TosaForm& form) {
  return form.inputs[0].shape.back() <= 127 ? met() : Violation(text(form.inputs[0]));
}
Violation image_axis(const TosaForm& form) {
  const std::int64_t from_end = std::ssize(form.inputs[0].shape) - form.axis;
  const bool is_met = from_end == 2 || from_end == 3;
  return is_met ? met() : Violation(fmt::format("axis {} of {}", form.axis, text(form.inputs[0])));
}
Violation not_rounded(const TosaForm& form) { return form.rounds ? met() : Violation("it does not"); }
Violation resize_level(const TosaForm& form) {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t n = form.scale[2 * i];
    const std::int64_t d = form.scale[2 * i + 1];
    const std::int64_t offset = form.offset[i];
    const std::int64_t border = form.border[i];
    constexpr std::int64_t kMaxSize = 16384;
    const bool is_met = n <= 2048 && d < 16 * n && n <= 256 * d && offset >= -n && offset < 16 * n &&
                        border >= -16 * n && border < n && form.inputs[0].shape[i + 1] < kMaxSize &&
                        form.output.shape[i + 1] < kMaxSize;
    if (!is_met) return fmt::format("{} to {}", text(form.inputs[0]), text(form.output));
  }
  return met();
}
Violation resize_by_power(const TosaForm& form) {
  const auto factor = [&](std::size_t i) {
    return form.scale[2 * i] % form.scale[2 * i + 1] == 0 ? form.scale[2 * i] / form.scale[2 * i + 1] : 0;
  };
  const bool is_power = factor(0) == 2 || factor(0) == 4 || factor(0) == 8;
  if (!form.is_bilinear && is_power && factor(0) == factor(1)) return met();
  return fmt::format("{}by {}", form.is_bilinear ? "bilinear, " : "", numbers_text(form.scale));
}

using enum ReasonCode;

constexpr Limit not_on_u55(tosa::Op op) { return {op, kOnU55, kNoForm, "U55 and U65 do not have it", missing}; }

constexpr Limit kLimits[] = {
    {tosa::Op::kInvalid, kEverywhere, kRank, "tensors have at most 6 axes", rank<6>},
    {tosa::Op::kInvalid, kEverywhere, kKernelSize, "windows and pads are at most 8192 long", level_window},
    {tosa::Op::kInvalid, kEverywhere, kStride, "strides are at most 8192", strides<kMaxLevel>},
    {tosa::Op::kConcat, kEverywhere, kListLength, "at most 64 tensors are joined", list_length<kMaxCatInputs>},
    {tosa::Op::kAvgPool2d, kEverywhere, kKernelSize, "each pad is smaller than the window", pad_in_window},
    {tosa::Op::kMaxPool2d, kEverywhere, kKernelSize, "each pad is smaller than the window", pad_in_window},
    {tosa::Op::kTransposeConv2d, kEverywhere, kKernelSize, "less than the window is cut from each side", cut_in_window},
    {tosa::Op::kResize, kEverywhere, kResizeRatio,
     "images are smaller than 16384, ratios in lowest terms have at most 1024 above, and lie between 1/16 and 256",
     resize_level},
    {tosa::Op::kRescale, kOnEthosU, kQuantizedType, "int32 values are not rescaled to 32 bits", wide_to_wide},
    not_on_u55(tosa::Op::kBitwiseAnd),
    not_on_u55(tosa::Op::kBitwiseOr),
    not_on_u55(tosa::Op::kBitwiseXor),
    not_on_u55(tosa::Op::kBitwiseNot),
    not_on_u55(tosa::Op::kIntDiv),
    not_on_u55(tosa::Op::kLogicalAnd),
    not_on_u55(tosa::Op::kLogicalOr),
    not_on_u55(tosa::Op::kLogicalXor),
    not_on_u55(tosa::Op::kLogicalNot),
    not_on_u55(tosa::Op::kLogicalRightShift),
    not_on_u55(tosa::Op::kSelect),
    not_on_u55(tosa::Op::kEqual),
    not_on_u55(tosa::Op::kGreater),
    not_on_u55(tosa::Op::kGreaterEqual),
    not_on_u55(tosa::Op::kReduceAll),
    not_on_u55(tosa::Op::kReduceAny),
    not_on_u55(tosa::Op::kGather),
    not_on_u55(tosa::Op::kScatter),
    {tosa::Op::kInvalid, kOnU55, kQuantizedType, "no tensor is of bools", no_bools},
    {tosa::Op::kConv2d, kOnU55, kQuantizedType, "its input is of 8 or 16 bits",
     first_input_type<Type::kI8, Type::kI16>},
    {tosa::Op::kConv2d, kOnU55, kStride, "each stride is 1 to 3", strides<kMaxStride>},
    {tosa::Op::kConv2d, kOnU55, kKernelSize, "the window is at most 64 high and has at most 4096 taps",
     kernel<kMaxFilterHeight, 4096>},
    {tosa::Op::kConv2d, kOnU55, kDimRange, "the magnitudes of a filter's weights add up to at most 127 * 65536", taps},
    {tosa::Op::kConv2d, kOnU55, kDimRange, "height, width and channels are at most 65536", image_sides},
    {tosa::Op::kDepthwiseConv2d, kOnU55, kStride, "each stride is 1 to 3", strides<kMaxStride>},
    {tosa::Op::kDepthwiseConv2d, kOnU55, kKernelSize, "the window is at most 64 high and has at most 4096 taps",
     kernel<kMaxFilterHeight, 4096>},
    {tosa::Op::kDepthwiseConv2d, kOnU55, kDimRange, "height, width and channels are at most 65536", image_sides},
    {tosa::Op::kTransposeConv2d, kOnU55, kQuantizedType, "its input is of 8 bits", first_input_type<Type::kI8>},
    {tosa::Op::kTransposeConv2d, kOnU55, kStride,
     "strides are [1,1] or [2,2], or [1,2] and [2,1] where the other axis is one long", transposed_strides},
    {tosa::Op::kTransposeConv2d, kOnU55, kKernelSize, "the window is at most 64 high and has at most 4096 taps",
     kernel<kMaxFilterHeight, 4096>},
    {tosa::Op::kTransposeConv2d, kOnU55, kDimRange, "height, width and channels are at most 65536", image_sides},
    {tosa::Op::kMatMul, kOnU55, kQuantizedType, "both factors are of 8 bits", input_types<Type::kI8>},
    {tosa::Op::kMatMul, kOnU55, kDimRange, "rows, columns and depth are at most 65536", image_sides},
    {tosa::Op::kAvgPool2d, kOnU55, kBatch, "the batch is one", one_image},
    {tosa::Op::kAvgPool2d, kOnU55, kStride, "each stride is 1 to 3", strides<kMaxStride>},
    {tosa::Op::kAvgPool2d, kOnU55, kKernelSize, "a window over padding is at most 8 by 8", padded_kernel},
    {tosa::Op::kAvgPool2d, kOnU55, kKernelSize, "the window is at most 256 high and has at most 65536 taps",
     kernel<256, 65536>},
    {tosa::Op::kAvgPool2d, kOnU55, kDimRange, "height, width and channels are at most 65536", image_sides},
    {tosa::Op::kMaxPool2d, kOnU55, kStride, "each stride is 1 to 3", strides<kMaxStride>},
    {tosa::Op::kMaxPool2d, kOnU55, kKernelSize, "the window is at most 256 high and has at most 65536 taps",
     kernel<256, 65536>},
    {tosa::Op::kMaxPool2d, kOnU55, kDimRange, "height, width and channels are at most 65536", image_sides},
    {tosa::Op::kReduceSum, kOnU55, kDimRange, "the axis, all before it and all behind it are at most 65536 long each",
     sums_beside},
    {tosa::Op::kReduceMax, kOnU55, kQuantizedType, "its input is of 8 or 16 bits", input_types<Type::kI8, Type::kI16>},
    {tosa::Op::kReduceMin, kOnU55, kQuantizedType, "its input is of 8 or 16 bits", input_types<Type::kI8, Type::kI16>},
    {tosa::Op::kArgMax, kOnU55, kQuantizedType, "its input is of 8 bits", input_types<Type::kI8>},
    {tosa::Op::kArgMax, kOnU55, kAxis, "it works along the last axis", last_axis},
    {tosa::Op::kArgMax, kOnU55, kDimRange, "the last axis is at most 127 long", last_size},
    {tosa::Op::kArithmeticRightShift, kOnU55, kQuantizedType, "its input is of 32 bits", input_types<Type::kI32>},
    {tosa::Op::kArithmeticRightShift, kOnU55, kNoForm, "it rounds", not_rounded},
    {tosa::Op::kLogicalLeftShift, kOnU55, kQuantizedType, "its input is of 32 bits", input_types<Type::kI32>},
    {tosa::Op::kTable, kOnU55, kQuantizedType, "its input is of 8 or 16 bits", first_input_type<Type::kI8, Type::kI16>},
    {tosa::Op::kCast, kOnU55, kQuantizedType, "int32 values stay so", narrows_i32},
    {tosa::Op::kReverse, kOnU55, kAxis, "it works along the second or third axis from the end", image_axis},
    {tosa::Op::kResize, kOnU55, kBatch, "the batch is one", one_image},
    {tosa::Op::kResize, kOnU55, kResizeRatio, "to the nearest pixel, by 2, 4 or 8 along both axes", resize_by_power},
    {tosa::Op::kTranspose, kOnU55, kDimRange, "all axes but any two have at most 65536 elements", transposed_product},
    {tosa::Op::kTranspose, kOnU55, kRanks, "int32 values have at most four axes", transposed_i32},
};

}  // namespace

std::span<const Limit> limits() { return kLimits; }

std::optional<Reason> refusal(const TosaForm& form, Device device) {
  for (const Limit& limit : kLimits) {
    if (!has(limit.devices, device) || (limit.op != form.op && limit.op != tosa::Op::kInvalid)) continue;
    const Violation found = limit.violation(form);
    if (found)
      return Reason{limit.code, fmt::format("{}: {}; here {}", tosa::name_of(form.op), limit.sentence, *found)};
  }
  return std::nullopt;
}

bool exists(tosa::Op op, Device device) {
  return std::ranges::none_of(kLimits, [&](const Limit& limit) {
    return limit.op == op && has(limit.devices, device) && limit.violation == missing;
  });
}

}  // namespace isthmus::ethos_u
