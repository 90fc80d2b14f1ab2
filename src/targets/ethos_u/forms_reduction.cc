// Forms of reductions. Sums keep all of their bits until the one RESCALE behind them.
#include <algorithm>
#include <functional>

#include "targets/ethos_u/form_families.h"

namespace isthmus::ethos_u {
namespace {

std::int64_t count_of(const NodeForm& form) {
  std::int64_t count = 1;
  for (const std::int64_t axis : form.attrs<ReduceAttrs>().axes) count *= form.sizes(0)[static_cast<std::size_t>(axis)];
  return count;
}

std::optional<Reason> refuse_dropped_axes(const NodeForm& form) {
  if (form.attrs<ReduceAttrs>().keepdim) return std::nullopt;
  return Reason{ReasonCode::kNoForm, "a reduction whose axes vanish"};
}
std::optional<Reason> refuse_sum(const NodeForm& form) {
  if (auto reason = refuse_count(form.type(0).dtype, count_of(form))) return reason;
  return refuse_dropped_axes(form);
}

// From the innermost axis outwards, so that less and less is left beside them.
Operand reduced(NodeLowering& lowering, tosa::Op op, Operand value) {
  Ints places;
  for (const std::int64_t axis : lowering.attrs<ReduceAttrs>().axes) places.push_back(lowering.place(axis));
  std::ranges::sort(places, std::greater<>());
  for (const std::int64_t place : places) value = lowering.out.reduce(op, value, place);
  return value;
}

Expected<Operand> summed(NodeLowering& lowering, std::int64_t divisor) {
  const TensorType from = lowering.type(0);
  const Operand sums =
      reduced(lowering, tosa::Op::kReduceSum, lowering.out.widened(lowering.inputs[0], from.quant->zero_point));
  const double factor = static_cast<double>(from.quant->scale()) /
                        (static_cast<double>(divisor) * static_cast<double>(lowering.type().quant->scale()));
  return to_codes(lowering, sums, factor);
}
Expected<Operand> sum(NodeLowering& lowering) { return summed(lowering, 1); }
Expected<Operand> mean(NodeLowering& lowering) { return summed(lowering, count_of(lowering)); }

template <tosa::Op kOp>
Expected<Operand> extreme(NodeLowering& lowering) {
  return reduced(lowering, kOp, lowering.inputs[0]);
}
template <tosa::Op kOp>
constexpr FormRow extreme_row(Op op) {
  return {op, kOp, same_order, refuse_dropped_axes, extreme<kOp>};
}

constexpr FormRow kReductionForms[] = {
    {Op::kSum, tosa::Op::kReduceSum, same_order, refuse_sum, sum, true, WideReads::kAlways},
    {Op::kMean, tosa::Op::kReduceSum, same_order, refuse_sum, mean, true, WideReads::kAlways},
    extreme_row<tosa::Op::kReduceMax>(Op::kAmax),
    extreme_row<tosa::Op::kReduceMin>(Op::kAmin),
    extreme_row<tosa::Op::kReduceAny>(Op::kAny),
    extreme_row<tosa::Op::kReduceAll>(Op::kAll),
};

}  // namespace

std::span<const FormRow> reduction_forms() { return kReductionForms; }

}  // namespace isthmus::ethos_u
