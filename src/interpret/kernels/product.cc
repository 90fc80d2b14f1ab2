// Reference kernels of matrix products.
#include <algorithm>
#include <type_traits>

#include "interpret/kernel.h"
#include "interpret/kernels/accumulate.h"
#include "interpret/kernels/batches.h"
#include "interpret/kernels/float_product.h"

namespace isthmus {
namespace {

// result[i, j] = bias[j] + sum over k of a[i, k] * b[j, k]: rows of both lie in one piece.
template <class Number>
void multiply_rows(const Number* a, const Number* b, const Number* bias, Number* result, std::int64_t rows,
                   std::int64_t columns, std::int64_t depth) {
  using Sum = Accumulator<Number>;
  for (std::int64_t i = 0; i < rows; ++i, a += depth, result += columns) {
    const Number* other = b;
    for (std::int64_t j = 0; j < columns; ++j, other += depth) {
      // Four sums that do not wait for each other.
      Sum s0{}, s1{}, s2{}, s3{};
      std::int64_t k = 0;
      for (; k + 4 <= depth; k += 4) {
        s0 += static_cast<Sum>(a[k]) * static_cast<Sum>(other[k]);
        s1 += static_cast<Sum>(a[k + 1]) * static_cast<Sum>(other[k + 1]);
        s2 += static_cast<Sum>(a[k + 2]) * static_cast<Sum>(other[k + 2]);
        s3 += static_cast<Sum>(a[k + 3]) * static_cast<Sum>(other[k + 3]);
      }
      for (; k < depth; ++k) s0 += static_cast<Sum>(a[k]) * static_cast<Sum>(other[k]);
      Sum sum = (s0 + s1) + (s2 + s3);
      if (bias != nullptr) sum += static_cast<Sum>(bias[j]);
      result[j] = static_cast<Number>(sum);
    }
  }
}

// The same of many rows of floats.
void multiply_many_rows(const float* a, const float* b, const float* bias, float* result, std::size_t rows,
                        std::size_t columns, std::size_t depth) {
  const auto fill = [&](std::size_t first, std::size_t count, std::size_t width, double* panel) {
    for (std::size_t i = 0; i < count; ++i) {
      const float* other = b + (first + i) * depth;
      for (std::size_t k = 0; k < depth; ++k) panel[k * width + i] = static_cast<double>(other[k]);
    }
  };
  multiply_floats(PackedRows(a, rows, depth), columns, fill, {.of_columns = bias}, result);
}

Expected<Tensor> linear(const KernelContext& context) {
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    const Tensor& weight = context.inputs[1];
    const std::int64_t columns = weight.size(0);
    const std::int64_t rows = columns == 0 ? 0 : result.count() / columns;
    if constexpr (std::is_same_v<Number, float>) {
      if (is_worth_packing(static_cast<std::size_t>(rows))) {
        multiply_many_rows(context.inputs[0].data<float>().data(), weight.data<float>().data(),
                           context.inputs.size() > 2 ? context.inputs[2].data<float>().data() : nullptr,
                           result.mutable_data<float>().data(), static_cast<std::size_t>(rows),
                           static_cast<std::size_t>(columns), static_cast<std::size_t>(weight.size(1)));
        return result;
      }
    }
    const Number* bias = context.inputs.size() > 2 ? context.inputs[2].data<Number>().data() : nullptr;
    multiply_rows(context.inputs[0].data<Number>().data(), weight.data<Number>().data(), bias,
                  result.mutable_data<Number>().data(), rows, columns, weight.size(1));
    return result;
  });
}

// result[i, j] = sum over k of a[i, k] * b[k, j]
void multiply_many_rows(const float* a, const float* b, float* result, std::size_t rows, std::size_t depth,
                        std::size_t columns) {
  const auto fill = [&](std::size_t first, std::size_t count, std::size_t width, double* panel) {
    for (std::size_t k = 0; k < depth; ++k) std::copy_n(b + k * columns + first, count, panel + k * width);
  };
  multiply_floats(PackedRows(a, rows, depth), columns, fill, {}, result);
}

template <class Number>
void multiply(const Number* a, const Number* b, Number* result, std::int64_t rows, std::int64_t depth,
              std::int64_t columns, std::vector<Accumulator<Number>>& sums) {
  using Sum = Accumulator<Number>;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::ranges::fill(sums, Sum{});
    for (std::int64_t k = 0; k < depth; ++k) {
      const Sum factor = static_cast<Sum>(a[i * depth + k]);
      const Number* row = b + k * columns;
      for (std::int64_t j = 0; j < columns; ++j) {
        sums[static_cast<std::size_t>(j)] += factor * static_cast<Sum>(row[j]);
      }
    }
    std::ranges::transform(sums, result + i * columns, [](Sum sum) { return static_cast<Number>(sum); });
  }
}

Expected<Tensor> matmul(const KernelContext& context) {
  return dispatch(context.dtype, [&]<class Number>(Number) -> Expected<Tensor> {
    Tensor result = context.result();
    if (result.count() == 0) return result;
    const Tensor& a = context.inputs[0];
    const Tensor& b = context.inputs[1];
    const std::int64_t rows = a.size(a.rank() - 2);
    const std::int64_t depth = a.size(a.rank() - 1);
    const std::int64_t columns = b.size(b.rank() - 1);
    const auto a_places = batch_places(batch_of(a), batch_of(result));
    const auto b_places = batch_places(batch_of(b), batch_of(result));
    std::vector<Accumulator<Number>> sums(static_cast<std::size_t>(columns));
    Number* out = result.mutable_data<Number>().data();
    for (std::size_t i = 0; i < a_places.size(); ++i, out += rows * columns) {
      if constexpr (std::is_same_v<Number, float>) {
        if (is_worth_packing(static_cast<std::size_t>(rows))) {
          multiply_many_rows(a.data<float>().data() + a_places[i] * rows * depth,
                             b.data<float>().data() + b_places[i] * depth * columns, out,
                             static_cast<std::size_t>(rows), static_cast<std::size_t>(depth),
                             static_cast<std::size_t>(columns));
          continue;
        }
      }
      multiply(a.data<Number>().data() + a_places[i] * rows * depth,
               b.data<Number>().data() + b_places[i] * depth * columns, out, rows, depth, columns, sums);
    }
    return result;
  });
}

}  // namespace

std::span<const KernelDef> product_kernels() {
  static const KernelDef kKernels[] = {
      {Op::kLinear, linear},
      {Op::kMatmul, matmul},
  };
  return kKernels;
}

}  // namespace isthmus
