// Tensors of half precision as f32 and back.
#pragma once

#include "interpret/tensor.h"

namespace isthmus {

inline bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// f16 and bf16 as f32, exactly; others as they are.
Tensor widened(const Tensor& tensor);
// f32 as f16 or bf16, rounded to nearest even.
Tensor narrowed(const Tensor& tensor, DType dtype);

}  // namespace isthmus
