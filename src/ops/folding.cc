// Counts elements and products.
#include "ops/folding.h"

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "ops/table.h"

namespace isthmus {

std::uint64_t element_count(const Shape& shape, std::size_t first_axis) {
  std::uint64_t count = 1;
  for (std::size_t axis = first_axis; axis < shape.size(); ++axis) {
    const auto size = shape[axis].is_fixed() ? static_cast<std::uint64_t>(shape[axis].value()) : ~std::uint64_t{0};
    count = multiply_sizes(count, size).value_or(~std::uint64_t{0});
  }
  return count;
}

namespace {

// How many numbers of its inputs make one of its result, where these are more than its inputs have in all.
std::uint64_t terms(const Graph& graph, const Node& node) {
  const OpDef& row = def(node.op);
  const auto shape = [&](std::size_t i) { return graph.type(node.inputs[i]).shape; };
  if (row.weight_axes) {
    const Shape weight = shape(1);
    const auto axis = static_cast<std::size_t>(row.weight_axes->outputs);
    const auto outputs = axis < weight.size() && weight[axis].is_fixed() ? weight[axis].value() : 1;
    return element_count(weight) / static_cast<std::uint64_t>(std::max<std::int64_t>(outputs, 1));
  }
  if (row.flow == QFlow::kComputes && !row.is_elementwise && node.inputs.size() > 1) {  // products
    std::uint64_t longest = 1;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      for (const Dim dim : shape(i)) longest = std::max(longest, element_count({dim}));
    }
    return longest;
  }
  if (row.channels == ChannelAxis::kSecond) return element_count(shape(0), std::min<std::size_t>(2, shape(0).size()));
  return 1;
}

}  // namespace

FoldingBudget FoldingBudget::of(const Graph& graph) {
  std::uint64_t bytes = 0;
  std::set<const std::byte*> counted;  // a view may show few bytes as many, and several views may show the same
  for (const Constant& constant : graph.constants()) {
    if (!constant.data || !counted.insert(constant.data->storage.bytes().data()).second) continue;
    bytes += constant.data->storage.size();
  }
  FoldingBudget budget;
  budget.steps += 64 * bytes;
  budget.bytes += 16 * bytes;
  return budget;
}

bool FoldingBudget::take(std::uint64_t wanted_steps, std::uint64_t wanted_bytes) {
  if (wanted_steps > steps || wanted_bytes > bytes) return false;
  steps -= wanted_steps;
  bytes -= wanted_bytes;
  return true;
}

std::uint64_t folding_steps(const Graph& graph, const Node& node) {
  auto steps = std::optional<std::uint64_t>(0);
  for (const ValueId output : node.outputs) {
    const auto made = multiply_sizes(element_count(graph.type(output).shape), terms(graph, node));
    steps = steps && made ? add_sizes(*steps, *made) : std::nullopt;
  }
  for (const ValueId input : node.inputs) {
    if (steps) steps = add_sizes(*steps, element_count(graph.type(input).shape));
  }
  return steps.value_or(~std::uint64_t{0});
}

}  // namespace isthmus
