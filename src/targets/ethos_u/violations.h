// What limits ask of a form. Each function tells what was found instead, and nothing where its demand is met.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "targets/ethos_u/forms/forms.h"

namespace isthmus::ethos_u::violation {

using tosa::Type;
using Violation = std::optional<std::string>;

inline Violation met() { return std::nullopt; }
std::int64_t product(const Ints& numbers);
std::string text(const TosaTensor& tensor);

Violation missing(const TosaForm&);

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
Violation no_bools(const TosaForm& form);
Violation narrows_i32(const TosaForm& form);
Violation wide_to_wide(const TosaForm& form);

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
Violation image_sides(const TosaForm& form);
Violation sums_beside(const TosaForm& form);
Violation transposed_product(const TosaForm& form);
Violation transposed_i32(const TosaForm& form);

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
Violation level_window(const TosaForm& form);
Violation pad_in_window(const TosaForm& form);
Violation cut_in_window(const TosaForm& form);
Violation one_image(const TosaForm& form);
Violation padded_kernel(const TosaForm& form);
// Weights of 8 bits: their magnitudes add up to no more, whatever they are.
Violation taps(const TosaForm& form);
Violation transposed_strides(const TosaForm& form);

// Others.
Violation last_axis(const TosaForm& form);
Violation last_size(const TosaForm& form);
Violation image_axis(const TosaForm& form);
Violation not_rounded(const TosaForm& form);
Violation resize_level(const TosaForm& form);
Violation resize_by_power(const TosaForm& form);

}  // namespace isthmus::ethos_u::violation
