// Tensors of a running program: resizing, and elements in and out.
#include "targets/host/slot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace isthmus::host {
namespace {

std::vector<std::int64_t> strides_of(const LiveTensor& tensor) {
  std::vector<std::int64_t> strides(tensor.sizes.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = strides.size(); i-- > 0;) {
    const std::size_t axis = tensor.dim_order[i];
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(tensor.sizes[axis], 1);
  }
  return strides;
}

// An axis of memory: how many elements, and how far apart they are in row-major order.
struct MemoryAxis {
  std::size_t count = 1;
  std::size_t stride = 0;
};
// From the outermost in memory to the innermost.
std::vector<MemoryAxis> memory_axes(const LiveTensor& tensor) {
  std::vector<std::size_t> strides(tensor.sizes.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * static_cast<std::size_t>(tensor.sizes[i]);
  std::vector<MemoryAxis> axes;
  for (const std::uint8_t axis : tensor.dim_order) {
    axes.push_back({static_cast<std::size_t>(tensor.sizes[axis]), strides[axis]});
  }
  return axes;
}

// Row-major elements into memory, line by line; there is at least one.
template <class Item>
void gather(const std::byte* from, std::byte* to, const std::vector<MemoryAxis>& axes) {
  const MemoryAxis inner = axes.back();
  std::vector<std::size_t> index(axes.size() - 1, 0);
  std::size_t start = 0;
  while (true) {
    for (std::size_t i = 0; i < inner.count; ++i, to += sizeof(Item)) {
      std::memcpy(to, from + (start + i * inner.stride) * sizeof(Item), sizeof(Item));
    }
    std::size_t axis = index.size();
    for (; axis > 0; --axis) {
      start += axes[axis - 1].stride;
      if (++index[axis - 1] < axes[axis - 1].count) break;
      start -= axes[axis - 1].stride * axes[axis - 1].count;
      index[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

}  // namespace

std::int64_t LiveTensor::count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

bool LiveTensor::is_row_major() const { return std::ranges::is_sorted(dim_order); }

std::vector<std::size_t> LiveTensor::memory_sizes() const {
  std::vector<std::size_t> result;
  for (const std::uint8_t axis : dim_order) result.push_back(static_cast<std::size_t>(sizes[axis]));
  return result;
}

Expected<void> resize(LiveTensor& tensor, const std::vector<std::int64_t>& sizes) {
  if (sizes == tensor.sizes) return {};
  const auto refuse = [&](std::string_view why) {
    return bad_input(
        fmt::format("[{}] for a tensor of [{}]: {}", fmt::join(sizes, ","), fmt::join(tensor.sizes, ","), why));
  };
  if (sizes.size() != tensor.sizes.size()) return refuse("another rank");
  if (!tensor.is_dynamic) return refuse("it is static");
  std::uint64_t count = 1;
  for (const std::int64_t size : sizes) {
    const auto product = size < 0 ? std::nullopt : multiply_sizes(count, static_cast<std::uint64_t>(size));
    if (!product) return refuse("no such sizes");
    count = *product;
  }
  if (count > static_cast<std::uint64_t>(tensor.max_elements)) return refuse("larger than its upper bound");
  tensor.sizes = sizes;
  return {};
}

Expected<void> resize_in_memory_order(LiveTensor& tensor, std::span<const std::size_t> sizes) {
  if (sizes.size() != tensor.sizes.size()) {
    return bad_input(fmt::format("[{}] for a tensor of {} axes", fmt::join(sizes, ","), tensor.sizes.size()));
  }
  std::vector<std::int64_t> logical(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) logical[tensor.dim_order[i]] = static_cast<std::int64_t>(sizes[i]);
  return resize(tensor, logical);
}

LiveTensor in_memory_order(const LiveTensor& tensor) {
  LiveTensor result = tensor;
  for (std::size_t i = 0; i < tensor.dim_order.size(); ++i) {
    result.sizes[i] = tensor.sizes[tensor.dim_order[i]];
    result.dim_order[i] = static_cast<std::uint8_t>(i);
  }
  return result;
}

Expected<void> check_memory(const LiveTensor& tensor, bool is_written, std::size_t argument) {
  if (tensor.data == nullptr) return bad_input(fmt::format("argument {} was freed", argument));
  if (tensor.is_constant && is_written) {
    return bad_input(fmt::format("argument {} is a constant and would be written", argument));
  }
  return {};
}

Expected<Tensor> read(const LiveTensor& tensor) {
  const std::int64_t count = tensor.count();
  if (tensor.data == nullptr && count != 0) return bad_input("a tensor is used after it was freed");
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(tensor.dtype);
  const Blob storage({tensor.data, count == 0 ? 0 : bytes}, nullptr);
  return Tensor::from({tensor.dtype, tensor.sizes, strides_of(tensor), 0, storage});
}

Expected<void> write(LiveTensor& tensor, const Tensor& elements) {
  if (tensor.is_constant) return bad_input("a constant is written");
  if (elements.dtype() != tensor.dtype) {
    return bad_input(fmt::format("{} elements for a tensor of {}", name_of(elements.dtype()), name_of(tensor.dtype)));
  }
  TRY(resize(tensor, elements.sizes()));
  if (elements.count() == 0) return {};
  if (tensor.data == nullptr) return bad_input("a tensor is used after it was freed");
  if (elements.bytes().data() == tensor.data && tensor.is_row_major()) return {};
  const std::size_t item = size_of(tensor.dtype);
  if (tensor.is_row_major()) {
    std::memmove(tensor.data, elements.bytes().data(), elements.bytes().size());
    return {};
  }
  // What is read may lie where it is written.
  const std::vector<std::byte> source(elements.bytes().begin(), elements.bytes().end());
  const std::vector<MemoryAxis> axes = memory_axes(tensor);
  switch (item) {
    case 1:
      gather<std::uint8_t>(source.data(), tensor.data, axes);
      break;
    case 2:
      gather<std::uint16_t>(source.data(), tensor.data, axes);
      break;
    case 4:
      gather<std::uint32_t>(source.data(), tensor.data, axes);
      break;
    case 8:
      gather<std::uint64_t>(source.data(), tensor.data, axes);
      break;
    default:
      return fail(ErrorKind::kUnsupported, fmt::format("{} elements in another order", name_of(tensor.dtype)));
  }
  return {};
}

}  // namespace isthmus::host
