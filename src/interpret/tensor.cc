// Memory of tensors, and numbers of half precision.
#include "interpret/tensor.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/block.h"

namespace isthmus {

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes) : dtype_(dtype), sizes_(std::move(sizes)) {
  for (const std::int64_t size : sizes_) count_ *= size;
  const std::size_t bytes = static_cast<std::size_t>(count_) * size_of(dtype);
  if (bytes == 0) return;
  const std::shared_ptr<std::byte> block = make_block(bytes);
  own_ = block.get();
  blob_ = Blob({own_, bytes}, block);
}

Tensor Tensor::over(DType dtype, std::vector<std::int64_t> sizes, std::byte* memory) {
  Tensor result;
  result.dtype_ = dtype;
  result.sizes_ = std::move(sizes);
  for (const std::int64_t size : result.sizes_) result.count_ *= size;
  const std::size_t bytes = static_cast<std::size_t>(result.count_) * size_of(dtype);
  if (bytes == 0) return result;
  std::memset(memory, 0, bytes);
  result.own_ = memory;
  result.blob_ = Blob({memory, bytes}, nullptr);
  return result;
}

Tensor Tensor::from(const TensorView& view) {
  const Blob blob = contiguous_bytes(view);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(blob.bytes().data()) % size_of(view.dtype) == 0;
  if (is_aligned && view.dtype != DType::kBool) {
    Tensor result;
    result.dtype_ = view.dtype;
    result.sizes_ = view.sizes;
    result.count_ = view.element_count();
    result.blob_ = blob;
    return result;
  }
  Tensor result(view.dtype, view.sizes);
  if (blob.size() > 0) std::memcpy(result.own_, blob.bytes().data(), blob.size());
  if (view.dtype == DType::kBool) {
    for (std::uint8_t& boolean : result.mutable_data<std::uint8_t>()) boolean = boolean != 0 ? 1 : 0;
  }
  return result;
}

Tensor Tensor::with_sizes(std::vector<std::int64_t> sizes) const {
  Tensor result = *this;
  result.own_ = nullptr;
  result.sizes_ = std::move(sizes);
  std::int64_t count = 1;
  for (const std::int64_t size : result.sizes_) count *= size;
  CHECK(count == count_, "another shape has another number of elements");
  return result;
}

float float_from_half(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 31 ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65536 and above
  if (magnitude < 0x38800000u) {                                                    // below the smallest normal half
    const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
  // A carry out of the mantissa raises the exponent, up to infinity, as it should.
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float float_from_bfloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t bfloat_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace isthmus
