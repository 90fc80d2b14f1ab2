// Indices into the graph's arrays; an index of one kind is not an index of another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace isthmus {

template <class Tag>
struct Id {
  std::uint32_t index = 0;
  auto operator<=>(const Id&) const = default;
};

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using ExprId = Id<struct ExprTag>;

}  // namespace isthmus

template <class Tag>
struct std::hash<isthmus::Id<Tag>> {
  std::size_t operator()(const isthmus::Id<Tag>& id) const noexcept { return id.index; }
};
