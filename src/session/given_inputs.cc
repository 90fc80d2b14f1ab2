// Element types and sizes, in the words of NumPy.
#include "session/given_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibrate/sample_fit.h"

namespace isthmus {
namespace {

std::string text_of(DType dtype, std::span<const std::int64_t> sizes) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(sizes, ","));
}

// "float32"; NumPy has no bfloat16.
std::string numpy_name(DType dtype) {
  const std::string_view name = name_of(dtype);
  const std::string_view bits = name.substr(1);
  if (dtype == DType::kBool) return "bool";
  if (is_floating(dtype)) return fmt::format("float{}", dtype == DType::kBF16 ? "32" : bits);
  return fmt::format("{}{}", name.starts_with('u') ? "uint" : "int", bits);
}

bool has_fitting_sizes(const run::TensorInfo& input, const Tensor& array) {
  if (!input.is_dynamic) return std::ranges::equal(input.sizes, array.sizes());
  return std::ranges::equal(array.sizes(), input.sizes,
                            [](std::int64_t size, std::int64_t max) { return size <= max; });
}

}  // namespace

Expected<void> check_inputs(std::span<const run::TensorInfo> inputs, std::span<const Tensor> arrays,
                            std::span<const std::string> files) {
  for (std::size_t i = 0; i < std::min({inputs.size(), arrays.size(), files.size()}); ++i) {
    const run::TensorInfo& input = inputs[i];
    const bool has_type = arrays[i].dtype() == input.dtype;
    const bool has_sizes = has_fitting_sizes(input, arrays[i]);
    if (has_type && has_sizes) continue;
    TensorType wanted{input.dtype, {}, std::nullopt};
    for (const std::int64_t size : input.sizes) wanted.shape.push_back(Dim(size));
    std::string advice;
    if (!has_sizes) {
      advice = order_hint(wanted, {"array", arrays[i].dtype(), arrays[i].sizes(), false});
    } else {
      advice = fmt::format("; convert it: x.astype(\"{}\")", numpy_name(input.dtype));
    }
    return bad_input(fmt::format("{} is {}, but input {} takes {}{}{}", files[i],
                                 text_of(arrays[i].dtype(), arrays[i].sizes()), i, text_of(input.dtype, input.sizes),
                                 input.is_dynamic ? " at most" : "", advice));
  }
  return {};
}

}  // namespace isthmus
