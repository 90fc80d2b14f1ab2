// What the library computes on quantized values on x86: sums in f32 times the ratio of scales, rounded to even, with
// the exceptions that its kernels make.
#pragma once

#include <span>

#include "interpret/integer_kernel.h"

namespace isthmus::xnnpack {

const IntegerKernels& integer_kernels();

// By family of ops.
std::span<const IntegerKernelRow> integer_unary_kernels();
std::span<const IntegerKernelRow> integer_binary_kernels();
std::span<const IntegerKernelRow> integer_product_kernels();
std::span<const IntegerKernelRow> integer_reduce_kernels();
std::span<const IntegerKernelRow> integer_image_kernels();

}  // namespace isthmus::xnnpack
