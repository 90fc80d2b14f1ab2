// Strides, and copies along them.
#include "targets/tosa/walk.h"

#include <cstring>

#include "base/tensor.h"

namespace isthmus::tosa {
namespace {

template <class Element>
void copy_elements(const Merged<2>& merged, const std::byte* from, std::byte* to) {
  const auto* source = reinterpret_cast<const Element*>(from);
  auto* target = reinterpret_cast<Element*>(to);
  walk_rows(merged, [&](const auto& offsets, std::int64_t length, const auto& steps) {
    const Element* in = source + offsets[0];
    Element* out = target + offsets[1];
    if (steps[0] == 1 && steps[1] == 1) {
      std::memcpy(out, in, static_cast<std::size_t>(length) * sizeof(Element));
      return;
    }
    for (std::int64_t i = 0; i < length; ++i) out[i * steps[1]] = in[i * steps[0]];
  });
}

}  // namespace

Sizes strides_of(const Sizes& sizes) { return row_major_strides(sizes); }

Sizes broadcast_strides(const Sizes& sizes, const Sizes& output) {
  Sizes strides = strides_of(sizes);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] != output[axis]) strides[axis] = 0;
  }
  return strides;
}

void copy_strided(const Sizes& sizes, const std::byte* from, const Sizes& from_strides, std::byte* to,
                  const Sizes& to_strides, std::size_t element) {
  const Merged<2> merged = merge_axes<2>(sizes, {from_strides, to_strides});
  switch (element) {
    case 1:
      return copy_elements<std::uint8_t>(merged, from, to);
    case 2:
      return copy_elements<std::uint16_t>(merged, from, to);
    case 4:
      return copy_elements<std::uint32_t>(merged, from, to);
    default:
      return copy_elements<std::uint64_t>(merged, from, to);
  }
}

}  // namespace isthmus::tosa
