// Asks the library for its values, and computes each node again.
#include "support/node_gaps.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "interpret/integer.h"
#include "interpret/kernel.h"
#include "support/models.h"
#include "targets/xnnpack/integers/integer_kernels.h"
#include "targets/xnnpack/tap.h"

namespace isthmus::test {
namespace {

// What lies in memory in this order, in the order of the graph.
template <class Number>
Tensor logical(std::span<const Number> numbers, const xnnpack::TappedValue& value, DType dtype) {
  std::vector<std::int64_t> sizes(value.sizes.begin(), value.sizes.end());
  Tensor stored(dtype, sizes);
  std::ranges::copy(numbers, stored.mutable_data<Number>().begin());
  Ints axes(value.order.size());
  for (std::size_t i = 0; i < value.order.size(); ++i)
    axes[static_cast<std::size_t>(value.order[i])] = static_cast<std::int64_t>(i);
  std::vector<std::int64_t> made;
  for (const std::int64_t axis : axes) made.push_back(sizes[static_cast<std::size_t>(axis)]);
  const Attrs attrs = AxesAttrs{axes};
  return *run_kernel(Op::kPermute, {std::span(&stored, 1), attrs, dtype, made});
}

// Of the range, where rounding has no bound of its own: functions, and rows that are quantized dynamically.
double of_range(const std::string& kind) { return kind.starts_with("rows") ? 1e-4 : 1e-5; }

double gap_of(const std::string& kind, const Tensor& found, const Tensor& expected,
              const std::optional<Tensor>& rounding) {
  const Difference gap = difference(found, expected);
  if (expected.dtype() != DType::kF32) return gap.max;
  if (!rounding) {
    // A single number has no range but its size.
    const double range = gap.range > 0 ? gap.range : largest_of(expected);
    return gap.max / (of_range(kind) * std::max(range, 1e-30));
  }
  double max = std::isfinite(gap.max) ? 0 : gap.max;
  const std::vector<double> a = doubles(found);
  const std::vector<double> b = doubles(expected);
  const std::vector<double> bound = doubles(*rounding);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) max = std::max(max, std::abs(a[i] - b[i]) / std::max(bound[i], 1e-38));
  }
  return max;
}

}  // namespace

double allowed_gap(const std::string& kind) { return kind.starts_with("quantized") ? 0 : 1; }

Expected<Values> tapped_values(const Graph& graph, const Segment& segment, std::span<const Tensor> inputs) {
  Values result;
  auto live = TRY(xnnpack::tapped(graph, segment));
  const auto floats = [&](std::span<const float> numbers, std::span<const xnnpack::TappedValue> values) {
    for (const auto& value : values) result[value.id] = logical(numbers, value, DType::kF32);
  };
  const auto quantized = [&](std::span<const std::int8_t> numbers, std::span<const xnnpack::TappedValue> values) {
    for (const auto& value : values) result[value.id] = logical(numbers, value, DType::kI8);
  };
  TRY(live.run(inputs, floats, quantized));
  return result;
}

Expected<void> compare_nodes(const Graph& graph, std::span<const NodeId> nodes, const SymbolValues& symbols,
                             Values& values, Gaps& gaps) {
  std::map<ValueId, std::optional<Tensor>> hidden;  // what rounding may have cost
  for (const NodeId id : nodes) {
    const Node& node = graph[id];
    std::vector<Tensor> inputs;
    bool has_all = true;
    for (const ValueId input : node.inputs) {
      const auto found = values.find(input);
      if (const Constant* constant = graph.constant(input)) {
        inputs.push_back(Tensor::from(*constant->data));
      } else if (found != values.end()) {
        inputs.push_back(found->second);
      } else {
        has_all = false;
      }
    }
    if (!has_all) return bad_input("a value that was never shown");
    const Tensor expected = TRY(TRY(prepare_integer_node(graph, node, xnnpack::integer_kernels()))(inputs, symbols));
    const ValueId output = node.outputs[0];
    const auto shown = values.find(output);
    const bool is_clamp = std::holds_alternative<ClampAttrs>(node.attrs);
    const auto before = is_clamp ? hidden.find(node.inputs[0]) : hidden.end();
    const auto rounding = before != hidden.end() ? before->second : rounding_of(graph, node, inputs);
    if (shown == values.end()) {
      values[output] = expected;
      hidden[output] = rounding;
      continue;
    }
    const bool is_rows = node.inputs.size() > 1 && graph.type(node.inputs[1]).quant && !graph.type(output).quant;
    const std::string kind = graph.type(output).quant ? "quantized" : is_rows ? "rows" : "float";
    Gap& gap = gaps[kind + " " + std::string(name_of(node.op))];
    const double here = gap_of(kind, shown->second, expected, rounding);
    if (here > gap.max) gap.worst = graph[output].name;
    gap.max = std::max(gap.max, here);
    ++gap.nodes;
  }
  return {};
}

}  // namespace isthmus::test
