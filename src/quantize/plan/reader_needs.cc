// Counts readers that no tie joins, and follows precision that was lost before.
#include "quantize/plan/reader_needs.h"

#include <algorithm>
#include <cmath>

#include "ops/table.h"
#include "quantize/plan/quantized_values.h"

namespace isthmus {
namespace {

// Whether the op's results are numbers that its inputs have, and the device does not change their quantized values.
bool takes_numbers(const IntegerRules& rules, Op op) {
  if (op == Op::kForeign || !must_share(rules, op)) return false;
  const QFlow flow = def(op).flow;
  return flow == QFlow::kMovesData || flow == QFlow::kJoinsInputs || flow == QFlow::kNarrowsRange;
}

// By value: all readers, apart from those of the float of a value that is made in float, which lose nothing.
std::vector<std::size_t> count_readers(const GroupingInput& in) {
  const auto is_made_in_float = [&](ValueId id) { return !is_made_quantized(in.graph, in.precision, in.config, id); };
  std::vector<std::size_t> count(in.graph.values().size(), 0);
  for (std::size_t n = 0; n < in.graph.nodes().size(); ++n) {
    for (const ValueId input : in.graph.nodes()[n].inputs) {
      if (in.precision[n] == Precision::kQuantized || !is_made_in_float(input)) ++count[input.index];
    }
  }
  for (const Output& output : in.graph.outputs()) {
    const auto* id = std::get_if<ValueId>(&output.value);
    const bool is_quantized = in.config.outputs != IoType::kFloat && output.kind == OutputKind::kResult;
    if (id != nullptr && (is_quantized || !is_made_in_float(*id))) ++count[id->index];
  }
  return count;
}

// What was in quantized values of a wide range before a part of it was taken has lost its bits: no rescale brings
// them back.
void widen_by_what_was_lost(const GroupingInput& in, const Ties& ties, std::vector<double>& finest) {
  for (std::size_t n = 0; n < in.graph.nodes().size(); ++n) {
    const Node& node = in.graph.nodes()[n];
    if (in.precision[n] != Precision::kQuantized) continue;
    double& of_result = finest[node.outputs[0].index];
    if (shares_what_it_computes(in.target.integers, node.op)) {
      // A mean is finer than what it is made of, but has to be in the same steps.
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (of_result > 0 && is_data_input(node.op, i)) {
          of_result = std::max(of_result, finest[node.inputs[i].index]);
        }
      }
      continue;
    }
    if (!takes_numbers(in.target.integers, node.op)) continue;
    double before = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!is_data_input(node.op, i)) continue;
      // What is not quantized yet can take any range.
      const bool is_quantized = !ties.is_hidden[input.index] && in.graph.constant(input) == nullptr &&
                                is_made_quantized(in.graph, in.precision, in.config, input);
      before = std::min(before, is_quantized ? finest[input.index] : 0);
    }
    if (of_result > 0 && std::isfinite(before)) of_result = std::max(of_result, before);
  }
}

}  // namespace

Expected<ReaderNeeds> reader_needs(const GroupingInput& input, const std::vector<bool>& is_quantized, const Ties& ties,
                                   Ranges& ranges) {
  const std::size_t values = input.graph.values().size();
  const std::vector<std::size_t> all = count_readers(input);
  std::vector<std::size_t> inside(values, 0);
  for (const TieEdge& edge : ties.edges) ++inside[edge.input.index];
  ReaderNeeds needs{std::vector<bool>(values, false), std::vector<double>(values, 0)};
  for (std::uint32_t i = 0; i < values; ++i) {
    if (!is_quantized[i]) continue;
    needs.is_read_outside[i] = all[i] > inside[i];
    if (!ties.is_hidden[i]) needs.finest[i] = TRY(ranges.own(ValueId{i})).width();
  }
  widen_by_what_was_lost(input, ties, needs.finest);
  return needs;
}

void RescaleNeeds::add(Need need, std::uint32_t target) {
  if (target != target_ && need.width < narrowest_.width) {
    besides_ = narrowest_;
    target_ = target;
  } else if (target != target_) {
    besides_ = narrower(besides_, need);
  }
  if (target == target_) narrowest_ = narrower(narrowest_, need);
}

}  // namespace isthmus
