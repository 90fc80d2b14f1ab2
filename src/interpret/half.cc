// Conversion of whole tensors of half precision.
#include "interpret/half.h"

#include <cstring>

namespace isthmus {

Tensor widened(const Tensor& tensor) {
  if (!is_half(tensor.dtype())) return tensor;
  Tensor result(DType::kF32, tensor.sizes());
  const auto from = tensor.bytes();
  const auto to = result.mutable_data<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from.data() + i * 2, 2);
    to[i] = tensor.dtype() == DType::kF16 ? float_from_half(bits) : float_from_bfloat(bits);
  }
  return result;
}

Tensor narrowed(const Tensor& tensor, DType dtype) {
  Tensor result(dtype, tensor.sizes());
  const auto from = tensor.data<float>();
  const auto to = result.mutable_bytes();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint16_t bits = dtype == DType::kF16 ? half_from_float(from[i]) : bfloat_from_float(from[i]);
    std::memcpy(to.data() + i * 2, &bits, 2);
  }
  return result;
}

}  // namespace isthmus
