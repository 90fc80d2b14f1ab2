// Types, sizes, windows, and the demands of single operators.
#include "targets/ethos_u/violations.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "targets/ethos_u/limits.h"

namespace isthmus::ethos_u::violation {

constexpr std::int64_t kMaxLevel = 8192;

std::int64_t product(const Ints& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{1}, std::multiplies<>());
}
std::string text(const TosaTensor& tensor) {
  return std::string(tosa::name_of(tensor.type)) + numbers_text(tensor.shape);
}

Violation missing(const TosaForm&) { return "it is not there"; }

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

}  // namespace isthmus::ethos_u::violation
