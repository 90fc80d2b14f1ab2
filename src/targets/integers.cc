// Finding rows, and where the channels of weights are.
#include "targets/integers.h"

#include <algorithm>

#include "ops/table.h"

namespace isthmus {
namespace {

// Weights are as the frontend has them: a transposed convolution's begin with the channels of its input.
struct WeightRow {
  Op op;
  std::int32_t axis;
};
constexpr WeightRow kWeights[] = {
    {Op::kConv2d, 0}, {Op::kConv3d, 0}, {Op::kConvTranspose2d, 1}, {Op::kConvTranspose3d, 1}, {Op::kLinear, 0},
};

}  // namespace

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
  const OpDef& row = def(op);
  if (row.roles.empty()) return false;
  return row.roles[input < row.roles.size() ? input : row.roles.size() - 1] == Role::kData;
}

bool picks_elements(Op op) {
  const OpDef& row = def(op);
  return row.flow == QFlow::kMovesData && std::ranges::find(row.roles, Role::kIndex) != row.roles.end();
}

std::optional<std::int32_t> weight_axis(Op op, const Attrs& attrs, const Shape& weight) {
  const auto row = std::ranges::find(kWeights, op, &WeightRow::op);
  if (row == std::end(kWeights)) return std::nullopt;
  const auto* transposed = std::get_if<ConvTransposeAttrs>(&attrs);
  if (transposed == nullptr || transposed->groups == 1) return row->axis;
  // [inputs, outputs of a group, ...]: only where a group is one channel does an axis number the outputs.
  if (weight.size() > 1 && weight[0].is(transposed->groups) && weight[1].is(1)) return 0;
  return std::nullopt;
}

}  // namespace isthmus
