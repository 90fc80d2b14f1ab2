// Walks over the elements of tensors in row-major order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace isthmus::tosa {

using Sizes = std::vector<std::int64_t>;

// Of a tensor of these sizes that is read along an output of other sizes: 0 where it is repeated.
Sizes broadcast_strides(const Sizes& sizes, const Sizes& output);
// Row-major, in elements.
Sizes strides_of(const Sizes& sizes);

// Calls visit(offsets) once for each position, with the offset of it in each of some tensors.
template <std::size_t count, class Visit>
void walk(const Sizes& sizes, const std::array<Sizes, count>& strides, Visit visit) {
  std::array<std::int64_t, count> offsets{};
  Sizes index(sizes.size(), 0);
  for (const std::int64_t size : sizes) {
    if (size == 0) return;
  }
  for (;;) {
    visit(offsets);
    std::size_t axis = sizes.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      ++index[axis];
      for (std::size_t i = 0; i < count; ++i) offsets[i] += strides[i][axis];
      if (index[axis] < sizes[axis]) break;
      for (std::size_t i = 0; i < count; ++i) offsets[i] -= strides[i][axis] * sizes[axis];
      index[axis] = 0;
    }
  }
}

// Sizes and strides with axes joined wherever all tensors go on evenly from one to the next.
template <std::size_t count>
struct Merged {
  Sizes sizes;
  std::array<Sizes, count> strides;
};
template <std::size_t count>
Merged<count> merge_axes(const Sizes& sizes, const std::array<Sizes, count>& strides) {
  Merged<count> result;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 1) continue;
    bool joins = !result.sizes.empty();
    for (std::size_t i = 0; i < count && joins; ++i) {
      joins = result.strides[i].back() == strides[i][axis] * sizes[axis];
    }
    if (joins) {
      result.sizes.back() *= sizes[axis];
    } else {
      result.sizes.push_back(sizes[axis]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (joins) {
        result.strides[i].back() = strides[i][axis];
      } else {
        result.strides[i].push_back(strides[i][axis]);
      }
    }
  }
  return result;
}

// The same as `walk`, a row at a time: visit(offsets, length, steps) for the innermost axis.
template <std::size_t count, class Visit>
void walk_rows(const Merged<count>& merged, Visit visit) {
  std::array<std::int64_t, count> steps{};
  if (merged.sizes.empty()) {
    visit(std::array<std::int64_t, count>{}, std::int64_t{1}, steps);
    return;
  }
  const Sizes outer(merged.sizes.begin(), merged.sizes.end() - 1);
  std::array<Sizes, count> strides;
  for (std::size_t i = 0; i < count; ++i) {
    strides[i].assign(merged.strides[i].begin(), merged.strides[i].end() - 1);
    steps[i] = merged.strides[i].back();
  }
  const std::int64_t length = merged.sizes.back();
  walk(outer, strides, [&](const std::array<std::int64_t, count>& offsets) { visit(offsets, length, steps); });
}

// Copies elements of 1, 2, 4 or 8 bytes; strides are in elements.
void copy_strided(const Sizes& sizes, const std::byte* from, const Sizes& from_strides, std::byte* to,
                  const Sizes& to_strides, std::size_t element);

}  // namespace isthmus::tosa
