// A tensor in memory: row-major, without gaps, aligned. What the reference kernels read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/dtype.h"
#include "base/tensor.h"

namespace isthmus {

// The C++ type of an element; bool is a byte that is 0 or 1.
template <class Number>
struct ElementType;
#define ISTHMUS_ELEMENT(number, enumerator)            \
  template <>                                          \
  struct ElementType<number> {                         \
    static constexpr DType kDType = DType::enumerator; \
  };
ISTHMUS_ELEMENT(std::uint8_t, kU8)
ISTHMUS_ELEMENT(std::uint16_t, kU16)
ISTHMUS_ELEMENT(std::uint32_t, kU32)
ISTHMUS_ELEMENT(std::uint64_t, kU64)
ISTHMUS_ELEMENT(std::int8_t, kI8)
ISTHMUS_ELEMENT(std::int16_t, kI16)
ISTHMUS_ELEMENT(std::int32_t, kI32)
ISTHMUS_ELEMENT(std::int64_t, kI64)
ISTHMUS_ELEMENT(float, kF32)
ISTHMUS_ELEMENT(double, kF64)
#undef ISTHMUS_ELEMENT

// Copying shares the bytes. A tensor is written only by the kernel that made it.
class Tensor {
 public:
  Tensor() = default;
  // New memory, all zero.
  Tensor(DType dtype, std::vector<std::int64_t> sizes);
  // The same in memory that the caller owns, and keeps for as long as the tensor and its copies live.
  static Tensor over(DType dtype, std::vector<std::int64_t> sizes, std::byte* memory);
  // Without a copy where the view is row-major and aligned already. Bytes of a bool become 0 or 1.
  static Tensor from(const TensorView& view);

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  std::int64_t size(std::int64_t axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  std::int64_t rank() const { return static_cast<std::int64_t>(sizes_.size()); }
  std::int64_t count() const { return count_; }

  std::span<const std::byte> bytes() const { return blob_.bytes(); }
  std::span<std::byte> mutable_bytes() {
    CHECK(own_ != nullptr || count_ == 0, "a tensor with another owner is read-only");
    return {own_, blob_.size()};
  }
  // Elements as numbers of their own type; a bool is read as uint8_t.
  template <class Number>
  std::span<const Number> data() const {
    check_type<Number>();
    return {reinterpret_cast<const Number*>(blob_.bytes().data()), static_cast<std::size_t>(count_)};
  }
  template <class Number>
  std::span<Number> mutable_data() {
    check_type<Number>();
    CHECK(own_ != nullptr || count_ == 0, "a tensor with another owner is read-only");
    return {reinterpret_cast<Number*>(own_), static_cast<std::size_t>(count_)};
  }

  // The same bytes with another shape of as many elements.
  Tensor with_sizes(std::vector<std::int64_t> sizes) const;
  TensorView view() const { return {dtype_, sizes_, row_major_strides(sizes_), 0, blob_}; }

 private:
  template <class Number>
  void check_type() const {
    const bool is_bool = dtype_ == DType::kBool && ElementType<Number>::kDType == DType::kU8;
    CHECK(is_bool || dtype_ == ElementType<Number>::kDType, "elements are read as another type than theirs");
  }

  DType dtype_ = DType::kF32;
  std::vector<std::int64_t> sizes_;
  std::int64_t count_ = 1;
  Blob blob_;
  std::byte* own_ = nullptr;
};

// Numbers of half precision as floats and back, rounding to nearest even.
float float_from_half(std::uint16_t bits);
std::uint16_t half_from_float(float value);
float float_from_bfloat(std::uint16_t bits);
std::uint16_t bfloat_from_float(float value);

// Calls `use` with a value of the C++ type of the elements: every integer type, float, double, and uint8_t for bool.
// Types of half precision never reach a kernel; others are our bug.
template <class Use>
auto dispatch(DType dtype, Use use) {
  switch (dtype) {
    case DType::kI8:
      return use(std::int8_t{});
    case DType::kI16:
      return use(std::int16_t{});
    case DType::kU16:
      return use(std::uint16_t{});
    case DType::kI32:
      return use(std::int32_t{});
    case DType::kU32:
      return use(std::uint32_t{});
    case DType::kI64:
      return use(std::int64_t{});
    case DType::kU64:
      return use(std::uint64_t{});
    case DType::kF32:
      return use(float{});
    case DType::kF64:
      return use(double{});
    default:
      CHECK(dtype == DType::kBool || dtype == DType::kU8, "a kernel has no arithmetic for this element type");
      return use(std::uint8_t{});
  }
}

// The same for kernels that are about real numbers only.
template <class Use>
auto dispatch_float(DType dtype, Use use) {
  CHECK(dtype == DType::kF32 || dtype == DType::kF64, "a kernel for real numbers was given others");
  return dtype == DType::kF32 ? use(float{}) : use(double{});
}

}  // namespace isthmus
