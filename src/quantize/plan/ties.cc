// Node by node; the order of ties comes from bytes, ranges and structure.
#include "quantize/plan/ties.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>

#include "base/portable_math.h"
#include "ops/table.h"
#include "quantize/plan/elements.h"
#include "quantize/plan/quantized_values.h"
#include "quantize/plan/structure.h"

namespace isthmus {
namespace {

// By node: it is quantized, and the device wants its data to share parameters with its result.
std::vector<bool> sharing_nodes(const GroupingInput& in) {
  std::vector<bool> shares;
  for (std::size_t n = 0; n < in.graph.nodes().size(); ++n) {
    shares.push_back(in.precision[n] == Precision::kQuantized &&
                     must_share(in.target.integers, in.graph.nodes()[n].op));
  }
  return shares;
}

// Sets what orders the ties, and hides the value before a fused clamp.
Expected<void> compare_sides(const GroupingInput& in, Ranges& ranges, TieEdge& edge, std::vector<bool>& is_hidden) {
  if (edge.is_fused && is_made_quantized(in.graph, in.precision, in.config, edge.input)) {
    is_hidden[edge.input.index] = true;
    return {};
  }
  edge.is_fused = false;
  const double a = is_hidden[edge.input.index] ? 0 : TRY(ranges.own(edge.input)).width();
  const double b = is_hidden[edge.result.index] ? 0 : TRY(ranges.own(edge.result)).width();
  edge.ratio = a > 0 && b > 0 ? std::abs(portable::log2(a / b)) : 0;
  edge.width = a;
  // What is rounded in two ways is first rounded in the one that clips less.
  if (is_hidden[edge.input.index] && in.pins.contains(edge.result)) edge.ratio = -b;
  return {};
}

std::vector<std::size_t> dearest_first(const Graph& graph, const std::vector<TieEdge>& edges) {
  const std::vector<std::uint64_t> structure = structure_of(graph);
  // Names tell apart only what nothing else does.
  using Key =
      std::tuple<bool, std::uint64_t, double, double, std::uint64_t, std::uint64_t, std::string_view, std::string_view>;
  const auto key = [&](const TieEdge& edge) -> Key {
    return {!edge.is_fused,
            std::numeric_limits<std::uint64_t>::max() - edge.bytes,
            edge.ratio,
            edge.width,
            structure[edge.result.index],
            structure[edge.input.index],
            graph[edge.result].name,
            graph[edge.input].name};
  };
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return key(edges[a]) < key(edges[b]); });
  return order;
}

}  // namespace

bool shares_what_it_computes(const IntegerRules& rules, Op op) {
  return op != Op::kForeign && def(op).flow == QFlow::kComputes && must_share(rules, op);
}

Expected<Ties> ties_of(const GroupingInput& input, Ranges& ranges) {
  const Graph& graph = input.graph;
  const std::vector<bool> shares = sharing_nodes(input);
  Ties ties;
  ties.is_hidden = values_before_pins(graph, input.pins, shares);
  for (std::uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!shares[n]) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId value = node.inputs[i];
      if (!is_data_input(node.op, i)) continue;
      if (graph.constant(value) != nullptr) {
        ties.constants.push_back({NodeId{n}, i});
        continue;
      }
      TieEdge edge{.tie = {NodeId{n}, i},
                   .input = value,
                   .result = node.outputs[0],
                   .bytes = elements_of(graph, value),
                   .is_fused = input.is_fused[n],
                   .computes = shares_what_it_computes(input.target.integers, node.op)};
      TRY(compare_sides(input, ranges, edge, ties.is_hidden));
      ties.edges.push_back(edge);
    }
  }
  ties.order = dearest_first(graph, ties.edges);
  return ties;
}

}  // namespace isthmus
