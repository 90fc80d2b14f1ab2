// Sets that only ever grow together.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace isthmus {

// Elements are 0 .. count - 1, each alone at first. The smallest element of a set is its root.
class UnionFind {
 public:
  explicit UnionFind(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0U); }

  std::uint32_t find(std::uint32_t element) {
    while (parent_[element] != element) {
      parent_[element] = parent_[parent_[element]];
      element = parent_[element];
    }
    return element;
  }
  // The root of both.
  std::uint32_t join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    return a;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace isthmus
