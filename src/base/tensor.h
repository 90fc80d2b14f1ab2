// A constant tensor as files hold it: a strided view of bytes with another owner.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/expected.h"

namespace isthmus {

// Element (i, j, ...) lies at byte size_of(dtype) * (offset + i * strides[0] + j * strides[1] + ...) of the storage.
// Made only by `make_tensor_view`, so that every element is known to lie inside the storage.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
  Blob storage;

  std::int64_t element_count() const;
  bool is_contiguous() const;  // row-major without gaps
};

// Checks ranks, signs, overflow and bounds.
Expected<TensorView> make_tensor_view(DType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                                      std::int64_t offset, Blob storage);

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes);

// The elements in row-major order: a part of the storage where they lie so already, else a copy.
Blob contiguous_bytes(const TensorView& tensor);

}  // namespace isthmus
