// Functions of one code: tables, and steps that need none.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "exec/integer_codes.h"
#include "exec/integer_constants.h"
#include "exec/integer_kernel.h"

namespace isthmus {

// By code less the least code of its type.
using CodeTable = std::array<std::int32_t, 256>;

// Each code of 8 bits by the table.
Tensor map_codes(const IntegerContext& context, const CodeTable& table);

// Each code by steps(code) plus the result's zero point, saturated.
template <class Steps>
Tensor map_each_code(const IntegerContext& context, Steps steps) {
  Tensor result = context.plain.result();
  const CodeRange range = code_range(context.plain.dtype);
  const std::int64_t zero_point = context.quant().zero_point;
  with_codes(context.input(0).dtype(), [&]<class In>(In) {
    with_codes(context.plain.dtype, [&]<class Out>(Out) {
      const auto in = context.input(0).data<In>();
      const auto out = result.mutable_data<Out>();
      for (std::size_t i = 0; i < in.size(); ++i) {
        const std::int64_t code = steps(std::int32_t{in[i]}) + zero_point;
        out[i] = static_cast<Out>(std::clamp<std::int64_t>(code, range.min, range.max));
      }
    });
  });
  return result;
}

// XNNPACK's tables: evaluated in f32, times the reciprocal of the scale, halves away from zero; NaN is code 0.
template <class Evaluate>
CodeTable rounded_table(const IntegerContext& context, Evaluate evaluate) {
  CodeTable table;
  const Quant& from = context.quant(0);
  const Quant& to = context.quant();
  const CodeRange in = code_range(context.input(0).dtype());
  const CodeRange out = code_range(context.plain.dtype);
  const float inverse = 1.0f / to.scale();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::int32_t code = in.min + static_cast<std::int32_t>(i);
    const float x = (static_cast<float>(code) - static_cast<float>(from.zero_point)) * from.scale();
    const float number = static_cast<float>(evaluate(x)) * inverse + static_cast<float>(to.zero_point);
    const float rounded = std::isnan(number) ? 0 : std::round(number);
    table[i] = static_cast<std::int32_t>(std::clamp(rounded, static_cast<float>(out.min), static_cast<float>(out.max)));
  }
  return table;
}

// XNNPACK's factor of 8 whole bits and 8 of fraction.
struct FixedFactor {
  std::int32_t parts = 256;  // of 1/256

  std::int64_t apply(std::int32_t value) const { return (std::int64_t{value} * parts + 128) >> 8; }
};
inline FixedFactor fixed_factor(float ratio) { return {static_cast<std::int32_t>(std::lrint(256.0f * ratio))}; }
// 2^-8 <= |ratio| <= 2^7, all that the library does not abort at.
std::optional<std::string> refuse_fixed_factor(float ratio);

// The code of a number, as bounds and pads are turned into codes.
std::int32_t code_of(Arithmetic arithmetic, double number, const Quant& quant, DType dtype);

}  // namespace isthmus
