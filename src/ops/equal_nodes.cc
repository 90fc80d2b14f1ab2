// An index of nodes by op and inputs.
#include "ops/equal_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace isthmus {

ValueId EqualNodes::representative(ValueId id) {
  constexpr std::int64_t kMaxComparedElements = 256;
  const Constant* constant = graph_.constant(id);
  if (constant == nullptr || !constant->data) return id;
  if (const auto known = representatives_.find(id); known != representatives_.end()) return known->second;
  ValueId found = id;
  if (constant->data->element_count() <= kMaxComparedElements) {
    const Blob bytes = contiguous_bytes(*constant->data);
    std::string text = fmt::format("{} {}:", name_of(constant->data->dtype), fmt::join(constant->data->sizes, ","));
    for (const std::byte byte : bytes.bytes()) text += static_cast<char>(byte);
    found = constants_.emplace(std::move(text), id).first->second;
  }
  representatives_.emplace(id, found);
  return found;
}

EqualNodes::Key EqualNodes::key(Op op, std::span<const ValueId> inputs) {
  Key key{op, {}};
  for (const ValueId input : inputs) key.second.push_back(representative(input));
  return key;
}

std::optional<ValueId> EqualNodes::find(const Node& node, std::span<const ValueId> inputs) {
  for (; indexed_ < graph_.nodes().size(); ++indexed_) {
    const Node& old = graph_.nodes()[indexed_];
    if (old.op != Op::kForeign) nodes_[key(old.op, old.inputs)].push_back(indexed_);
  }
  const auto row = nodes_.find(key(node.op, inputs));
  if (row == nodes_.end()) return std::nullopt;
  for (const std::size_t i : row->second) {
    const Node& old = graph_.nodes()[i];
    if (old.attrs == node.attrs && old.in_float == node.in_float) return old.outputs[0];
  }
  return std::nullopt;
}

}  // namespace isthmus
