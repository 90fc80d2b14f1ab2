// The reference kernels: plain, readable, exact in PyTorch's semantics.
#pragma once

#include <cmath>
#include <span>
#include <type_traits>

#include "base/expected.h"
#include "interpret/tensor.h"
#include "ir/attrs.h"
#include "ir/op.h"

namespace isthmus {

// What a kernel is given. Shapes and attributes are concrete: every Dim in `attrs` is a number.
struct KernelContext {
  std::span<const Tensor> inputs;
  const Attrs& attrs;
  DType dtype;                             // of the result
  const std::vector<std::int64_t>& sizes;  // of the result
  std::byte* memory = nullptr;             // where the result is to lie; null: in memory of its own

  template <class A>
  const A& as() const {
    return std::get<A>(attrs);
  }
  // All zero. To be asked for once.
  Tensor result() const { return memory == nullptr ? Tensor(dtype, sizes) : Tensor::over(dtype, sizes, memory); }
};

// Types and shapes were checked by the op's `infer`; what depends on the values (an index out of range) is an error.
using Kernel = Expected<Tensor> (*)(const KernelContext&);

enum class HalfPrecision : std::uint8_t {
  kAsFloat,  // the kernel computes in f32: f16 and bf16 are converted before and after it
  kAsBytes,  // the kernel only moves bytes and takes any element type
};

struct KernelDef {
  Op op;
  Kernel kernel;
  HalfPrecision half = HalfPrecision::kAsFloat;
};

// Whatever the type: an integer never is.
template <class Number>
bool is_nan(Number number) {
  if constexpr (std::is_floating_point_v<Number>) return std::isnan(number);
  return false;
}

// Every op but foreign has one.
const KernelDef& kernel_def(Op op);

// The result of the op's kernel, after converting numbers of half precision where it computes with them. Fails on
// element types without arithmetic.
Expected<Tensor> run_kernel(const KernelDef& row, const KernelContext& context);
inline Expected<Tensor> run_kernel(Op op, const KernelContext& context) { return run_kernel(kernel_def(op), context); }

// The files of this folder, by family of ops.
std::span<const KernelDef> movement_kernels();
std::span<const KernelDef> index_kernels();
std::span<const KernelDef> type_kernels();
std::span<const KernelDef> dynamic_kernels();
std::span<const KernelDef> binary_kernels();
std::span<const KernelDef> unary_kernels();
std::span<const KernelDef> reduce_kernels();
std::span<const KernelDef> conv_kernels();
std::span<const KernelDef> product_kernels();
std::span<const KernelDef> pool_kernels();
std::span<const KernelDef> norm_kernels();
std::span<const KernelDef> image_kernels();

}  // namespace isthmus
