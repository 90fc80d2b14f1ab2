// The values of a program while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/expected.h"
#include "formats/executorch/pte.h"
#include "interpret/tensor.h"

namespace isthmus::host {

// A tensor with memory that the method owns. Copying it copies no elements.
struct LiveTensor {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> sizes;      // now
  std::vector<std::uint8_t> dim_order;  // axes from the outermost in memory to the innermost
  std::byte* data = nullptr;            // null: freed
  std::int64_t max_elements = 0;
  bool is_dynamic = false;
  bool is_constant = false;

  std::int64_t count() const;
  bool is_row_major() const;
  // Sizes in the order of memory.
  std::vector<std::size_t> memory_sizes() const;
};

// Gives the tensor new sizes, as far as the program allows it.
Expected<void> resize(LiveTensor& tensor, const std::vector<std::int64_t>& sizes);
// The same with sizes in the order of memory.
Expected<void> resize_in_memory_order(LiveTensor& tensor, std::span<const std::size_t> sizes);

// The same memory as a row-major tensor.
LiveTensor in_memory_order(const LiveTensor& tensor);

// Whether a delegate may have its memory as the argument of this number.
Expected<void> check_memory(const LiveTensor& tensor, bool is_written, std::size_t argument);

// The elements in logical order: without a copy where they lie so already. The result must not outlive the memory.
Expected<Tensor> read(const LiveTensor& tensor);

// Resizes the tensor and copies the elements into its own order.
Expected<void> write(LiveTensor& tensor, const Tensor& elements);

using Slot = std::variant<pte::None, std::int64_t, bool, double, std::string, LiveTensor, pte::IntList, pte::DoubleList,
                          pte::BoolList, pte::TensorList, pte::OptionalTensorList>;

}  // namespace isthmus::host
