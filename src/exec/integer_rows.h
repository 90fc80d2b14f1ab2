// Rows of codes along an axis, for kernels that look at a whole row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/integer_codes.h"
#include "exec/integer_constants.h"
#include "exec/integer_kernel.h"

namespace isthmus {

// Calls compute(codes, results) with each row along the axis, codes without their zero point; the results are rescaled
// codes, zero point not yet added.
template <class Compute>
Tensor map_rows(const IntegerContext& context, std::int64_t length, std::int64_t inner, const Multiplier& factor,
                Compute compute) {
  Tensor result = context.plain.result();
  const CodeRange range = code_range(context.plain.dtype);
  const std::int64_t to_zero = context.quant().zero_point;
  std::vector<std::int32_t> codes(static_cast<std::size_t>(length));
  std::vector<std::int32_t> results(static_cast<std::size_t>(length));
  with_codes(context.input(0).dtype(), [&]<class In>(In) {
    with_codes(context.plain.dtype, [&]<class Out>(Out) {
      const auto in = context.input(0).data<In>();
      const auto out = result.mutable_data<Out>();
      const auto step = static_cast<std::size_t>(inner);
      for (std::size_t block = 0; block < in.size(); block += codes.size() * step) {
        for (std::size_t row = block; row < block + step; ++row) {
          for (std::size_t i = 0; i < codes.size(); ++i) {
            codes[i] = std::int32_t{in[row + i * step]} - context.quant(0).zero_point;
          }
          compute(std::span<const std::int32_t>(codes), std::span<std::int32_t>(results));
          for (std::size_t i = 0; i < codes.size(); ++i) {
            const std::int64_t code = factor.apply(results[i]) + to_zero;
            out[row + i * step] = static_cast<Out>(std::clamp<std::int64_t>(code, range.min, range.max));
          }
        }
      }
    });
  });
  return result;
}

}  // namespace isthmus
