// ExecuTorch's portable kernels, where they compute other numbers than PyTorch: in the types and the order of its
// sources (kernels/portable/cpu, version 1.5.0), so that a program gives here what it gives on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "interpret/kernel.h"

namespace isthmus::executorch_kernels {

// Null where the reference kernel computes the same.
const KernelDef* find_kernel(Op op);

// The first `count` of a line's numbers in order, and where they stood. Equal ones come as std::nth_element and
// std::sort leave them.
struct Sorted {
  Tensor numbers;
  Tensor positions;
};
Sorted topk(const Tensor& input, std::int64_t axis, std::int64_t count, bool largest, bool sorted);

// Rows of `count` numbers; weight and bias may be null. Means and factors have one number for each row.
template <class Number>
struct NormRows {
  const Number* in;
  const Number* weight;
  const Number* bias;
  Number* out;
  Number* means;
  Number* factors;
  std::size_t rows;
  std::size_t count;
  float eps;
};
void layer_norm(const NormRows<float>& rows);
void layer_norm(const NormRows<double>& rows);

// What a processor of the x86 family makes of a float that no integer of the type is: ExecuTorch leaves it to C++,
// which leaves it open.
template <class To, class From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Wide = std::conditional_t<(sizeof(To) < 8 && std::is_signed_v<To>), std::int32_t, std::int64_t>;
    constexpr auto kLowest = std::numeric_limits<Wide>::min();
    const double limit = -static_cast<double>(kLowest);
    const auto number = static_cast<double>(value);
    const bool fits = number > -limit - 1 && number < limit;
    return static_cast<To>(fits ? static_cast<Wide>(value) : kLowest);
  } else {
    return static_cast<To>(value);
  }
}

// The files of this folder, by family.
std::span<const KernelDef> arithmetic_kernels();
std::span<const KernelDef> reduce_kernels();
std::span<const KernelDef> norm_kernels();
std::span<const KernelDef> product_kernels();
std::span<const KernelDef> image_kernels();
std::span<const KernelDef> type_kernels();

}  // namespace isthmus::executorch_kernels
