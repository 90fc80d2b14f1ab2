// Checks of strided views, and their elements in row-major order.
#include "base/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "base/block.h"
#include "base/check.h"

namespace isthmus {

std::int64_t TensorView::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t axis = sizes.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * std::max<std::int64_t>(sizes[axis], 1);
  }
  return strides;
}

bool TensorView::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    if (sizes[axis] == 0) return true;
    if (sizes[axis] != 1 && strides[axis] != expected) return false;
    expected *= sizes[axis];
  }
  return true;
}

Expected<TensorView> make_tensor_view(DType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                                      std::int64_t offset, Blob storage) {
  const auto refuse = [&](std::string_view why) {
    return bad_input(fmt::format("a {} tensor of sizes [{}], strides [{}], offset {} in {} bytes: {}", name_of(dtype),
                                 fmt::join(sizes, ","), fmt::join(strides, ","), offset, storage.size(), why));
  };
  constexpr std::size_t kMaxDimensions = 64;
  if (sizes.size() > kMaxDimensions)
    return bad_input(fmt::format("a tensor of {} dimensions; at most 64 are supported", sizes.size()));
  if (sizes.size() != strides.size()) return refuse("sizes and strides differ in length");
  if (offset < 0) return refuse("the offset is negative");
  bool is_empty = false;
  std::uint64_t count = 1;
  auto last = std::optional<std::uint64_t>(static_cast<std::uint64_t>(offset));
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] < 0 || strides[axis] < 0) return refuse("a size or stride is negative");
    const auto size = static_cast<std::uint64_t>(sizes[axis]);
    if (size == 0) {
      is_empty = true;
      continue;
    }
    const auto product = multiply_sizes(count, size);
    if (!product || *product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 16)) {
      return refuse("the element count overflows");
    }
    count = *product;
    const auto reach = multiply_sizes(size - 1, static_cast<std::uint64_t>(strides[axis]));
    last = last && reach ? add_sizes(*last, *reach) : std::nullopt;
  }
  if (!is_empty) {
    const auto end = last ? add_sizes(*last, 1) : std::nullopt;
    const auto end_bytes = end ? multiply_sizes(*end, size_of(dtype)) : std::nullopt;
    if (!end_bytes || *end_bytes > storage.size()) return refuse("it extends past the end of its storage");
    // Strides of zero or overlapping ones could make a huge tensor out of few bytes.
    constexpr std::uint64_t kMaxRepeats = 1024;
    if (count * size_of(dtype) / kMaxRepeats > storage.size())
      return refuse("its elements alias the storage too often");
  }
  return TensorView{dtype, std::move(sizes), std::move(strides), offset, std::move(storage)};
}

Blob contiguous_bytes(const TensorView& tensor) {
  const std::size_t item = size_of(tensor.dtype);
  const auto count = static_cast<std::size_t>(tensor.element_count());
  if (count == 0) return Blob();
  const std::size_t start = static_cast<std::size_t>(tensor.offset) * item;
  if (tensor.is_contiguous()) {
    auto part = tensor.storage.part(start, count * item);
    CHECK(part.has_value(), "a tensor view reaches past its storage");
    return *part;
  }
  const std::shared_ptr<std::byte> block = make_block(count * item);
  const std::byte* const source = tensor.storage.bytes().data() + start;
  std::vector<std::int64_t> index(tensor.sizes.size(), 0);
  std::int64_t position = 0;
  for (std::size_t element = 0; element < count; ++element) {
    std::memcpy(block.get() + element * item, source + static_cast<std::size_t>(position) * item, item);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      position += tensor.strides[axis];
      if (++index[axis] < tensor.sizes[axis]) break;
      position -= tensor.strides[axis] * tensor.sizes[axis];
      index[axis] = 0;
    }
  }
  return {{block.get(), count * item}, block};
}

}  // namespace isthmus
