// Finding rows, and the axis of scales of weights.
#include "targets/integers.h"

#include <algorithm>

#include "ops/table.h"

namespace isthmus {
const SharingRow* sharing_of(const IntegerRules& rules, Op op) {
  const SharingRow* by_flow = nullptr;
  for (const SharingRow& row : rules.sharing) {
    if (const Op* of = std::get_if<Op>(&row.of); of != nullptr && *of == op) return &row;
    if (const QFlow* of = std::get_if<QFlow>(&row.of); of != nullptr && *of == def(op).flow) by_flow = &row;
  }
  return by_flow;
}

const SumLimit* sum_limit_of(const IntegerRules& rules, Op op) {
  const auto row = std::ranges::find(rules.sums, op, &SumLimit::op);
  return row == rules.sums.end() ? nullptr : &*row;
}

bool must_share(const IntegerRules& rules, Op op) {
  const SharingRow* row = sharing_of(rules, op);
  return row != nullptr && row->sharing == Sharing::kMustEqual;
}

bool is_data_input(Op op, std::size_t input) {
  if (op == Op::kForeign) return false;
  return role_of(op, input) == Role::kData;
}

bool picks_elements(Op op) {
  const OpDef& row = def(op);
  return row.flow == QFlow::kMovesData && std::ranges::find(row.roles, Role::kIndex) != row.roles.end();
}

std::optional<std::int32_t> weight_axis(Op op, const Attrs& attrs, const Shape& weight) {
  const std::optional<WeightAxes>& axes = def(op).weight_axes;
  if (!axes) return std::nullopt;
  const auto* transposed = std::get_if<ConvTransposeAttrs>(&attrs);
  if (transposed == nullptr || transposed->groups == 1) return axes->outputs;
  // [inputs, outputs of a group, ...]: only where a group is one channel does an axis number the outputs.
  if (weight.size() > 1 && weight[0].is(transposed->groups) && weight[1].is(1)) return 0;
  return std::nullopt;
}

}  // namespace isthmus
