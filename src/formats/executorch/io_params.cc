// Constant methods: plans without instructions that return a number.
#include "formats/executorch/io_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>

#include "formats/executorch/pte_element_types.h"

namespace isthmus::pte {
namespace {

constexpr std::array<std::string_view, 5> kKeys{"scale", "zp", "quant_min", "quant_max", "dtype"};

std::string name_of(IoSide side, std::size_t index, std::string_view key) {
  return fmt::format("{}{}_{}", side == IoSide::kInput ? "input" : "output", index, key);
}

struct IoType {
  DType dtype;
  std::int64_t min, max;
};
constexpr IoType kIoTypes[] = {
    {.dtype = DType::kU8, .min = 0, .max = 255},
    {.dtype = DType::kI8, .min = -128, .max = 127},
    {.dtype = DType::kI16, .min = -32768, .max = 32767},
};

template <class T>
std::optional<T> constant_of(const Program& program, const std::string& name) {
  const Plan* plan = find_plan(program, name);
  if (plan == nullptr || !plan->inputs.empty() || plan->outputs.size() != 1) return std::nullopt;
  const auto index = static_cast<std::size_t>(plan->outputs[0]);
  const bool has_quantized_value =
      std::ranges::any_of(plan->chains, [](const Chain& chain) { return !chain.instructions.empty(); });
  if (has_quantized_value || index >= plan->values.size()) return std::nullopt;
  const auto* value = std::get_if<T>(&plan->values[index]);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

}  // namespace

void add_io_params(Program& program, IoSide side, std::size_t index, const IoParams& params) {
  const auto* type = std::ranges::find(kIoTypes, params.dtype, &IoType::dtype);
  if (type == std::end(kIoTypes)) return;
  const std::array<Value, kKeys.size()> values{params.scale, params.zero_point, type->min, type->max,
                                               *number_of(params.dtype)};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    Plan plan;
    plan.name = name_of(side, index, kKeys[i]);
    plan.container_outputs = "$";
    plan.values = {values[i]};
    plan.outputs = {ValueIndex{0}};
    plan.chains.emplace_back();
    plan.buffer_sizes = {0};
    program.plans.push_back(std::move(plan));
  }
}

std::optional<IoParams> find_io_params(const Program& program, IoSide side, std::size_t index) {
  const auto scale = constant_of<double>(program, name_of(side, index, kKeys[0]));
  std::array<std::optional<std::int64_t>, kKeys.size()> numbers;
  for (std::size_t i = 1; i < kKeys.size(); ++i) {
    numbers[i] = constant_of<std::int64_t>(program, name_of(side, index, kKeys[i]));
    if (!numbers[i]) return std::nullopt;
  }
  const std::optional<DType> dtype = dtype_of_number(*numbers[4]);
  const auto* type = std::ranges::find(kIoTypes, dtype, [](const IoType& row) { return std::optional(row.dtype); });
  constexpr std::int64_t kMaxLevel = std::int64_t{1} << 16;
  const bool is_sane =
      scale && std::isfinite(*scale) && *scale > 0 && type != std::end(kIoTypes) && std::abs(*numbers[1]) <= kMaxLevel;
  if (!is_sane) return std::nullopt;
  return IoParams{*scale, *numbers[1], type->dtype};
}

bool is_io_method(std::string_view name) {
  const std::size_t line = name.find('_');
  if (line == std::string_view::npos || std::ranges::find(kKeys, name.substr(line + 1)) == kKeys.end()) return false;
  std::string_view side = name.substr(0, line);
  for (const std::string_view word : {"input", "output"}) {
    if (!side.starts_with(word) || side.size() == word.size()) continue;
    return std::ranges::all_of(side.substr(word.size()), [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

}  // namespace isthmus::pte
