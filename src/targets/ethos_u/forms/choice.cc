// Forms of comparisons, logic and choices.
#include <algorithm>

#include "interpret/quantized_types.h"
#include "targets/ethos_u/forms/form_families.h"

namespace isthmus::ethos_u {
namespace {

std::optional<Reason> refuse_ranks(const NodeForm& form) {
  const std::size_t rank = form.sizes().size();
  for (std::size_t i = 0; i < form.node.inputs.size(); ++i) {
    if (form.sizes(i).size() != rank) return Reason{ReasonCode::kRanks, "operands of several ranks"};
  }
  return std::nullopt;
}
std::optional<Reason> refuse_compare(const NodeForm& form) {
  for (std::size_t i = 0; i < 2; ++i) {
    const DType type = form.type(i).dtype;
    if (type == DType::kI8 || type == DType::kI16) continue;
    return Reason{ReasonCode::kQuantizedType, "the compared values are not quantized"};
  }
  return refuse_ranks(form);
}

// Both sides in one scale, in 32 bits.
template <tosa::Op kOp, bool kIsSwapped = false, bool kIsNegated = false>
Expected<Operand> compare(NodeLowering& lowering) {
  const TensorType a = lowering.type(0);
  const TensorType b = lowering.type(1);
  const auto common = common_scale(static_cast<double>(a.quant->scale()), static_cast<double>(b.quant->scale()),
                                   wider(a.dtype, b.dtype));
  if (!common) return bad_input("scales too far apart");
  Operand left = lowering.out.rescale(lowering.inputs[0], tosa::Type::kI32, {{common->a}, a.quant->zero_point});
  Operand right = lowering.out.rescale(lowering.inputs[1], tosa::Type::kI32, {{common->b}, b.quant->zero_point});
  if (kIsSwapped) std::swap(left, right);
  const Operand boolean = lowering.out.binary(kOp, left, right, tosa::Type::kBool);
  return kIsNegated ? lowering.out.unary(tosa::Op::kLogicalNot, boolean) : boolean;
}
template <tosa::Op kOp, bool kIsSwapped = false, bool kIsNegated = false>
constexpr FormRow compare_row(Op op) {
  return {op, kOp, same_order, refuse_compare, compare<kOp, kIsSwapped, kIsNegated>};
}

template <tosa::Op kOp>
Expected<Operand> logical(NodeLowering& lowering) {
  if (lowering.inputs.size() == 1) return lowering.out.unary(kOp, lowering.inputs[0]);
  return lowering.out.binary(kOp, lowering.inputs[0], lowering.inputs[1], tosa::Type::kBool);
}
template <tosa::Op kOp>
constexpr FormRow logical_row(Op op) {
  return {
      .op = op, .core = kOp, .order = same_order, .refusal = refuse_ranks, .lower = logical<kOp>, .reads_bools = true};
}

// By a known condition the choice is the greater of both sides, each of which is the least number where it is not
// chosen: for devices without SELECT.
Expected<Operand> choice_of_greatest(NodeLowering& lowering) {
  TosaBuilder& out = lowering.out;
  constexpr std::int64_t kFar = 1 << 20;  // beyond any quantized value
  const std::vector<std::int64_t> bools = lowering.integers(0, lowering.reads[0]);
  const auto side = [&](std::size_t i, bool is_chosen_where) {
    std::vector<std::int64_t> bounds;
    for (const std::int64_t boolean : bools) bounds.push_back((boolean != 0) == is_chosen_where ? kFar : -kFar);
    const Operand bound = out.numbers(tosa::Type::kI32, lowering.inputs[0].shape, bounds);
    return out.binary(tosa::Op::kMinimum, out.widened(lowering.inputs[i], 0), bound);
  };
  const Operand greater = out.binary(tosa::Op::kMaximum, side(1, true), side(2, false));
  return out.rescale(greater, lowering.result_type(), {{*multiplier_of(1, ScaleBits::k31)}});
}

Expected<Operand> where(NodeLowering& lowering) {
  if (lowering.device == Device::kU55 && lowering.is_constant(0)) return choice_of_greatest(lowering);
  const auto& in = lowering.inputs;
  return lowering.out.emit(tosa::Op::kSelect, tosa::Nothing{}, {in[0].id, in[1].id, in[2].id}, in[1].type,
                           lowering.result_shape());
}

constexpr FormRow kChoiceForms[] = {
    compare_row<tosa::Op::kEqual>(Op::kEq),
    compare_row<tosa::Op::kEqual, false, true>(Op::kNe),
    compare_row<tosa::Op::kGreater>(Op::kGt),
    compare_row<tosa::Op::kGreater, true>(Op::kLt),
    compare_row<tosa::Op::kGreaterEqual>(Op::kGe),
    compare_row<tosa::Op::kGreaterEqual, true>(Op::kLe),
    logical_row<tosa::Op::kLogicalAnd>(Op::kLogicalAnd),
    logical_row<tosa::Op::kLogicalOr>(Op::kLogicalOr),
    logical_row<tosa::Op::kLogicalXor>(Op::kLogicalXor),
    logical_row<tosa::Op::kLogicalNot>(Op::kLogicalNot),
    {.op = Op::kWhere, .core = tosa::Op::kSelect, .order = same_order, .refusal = refuse_ranks, .lower = where},
};

}  // namespace

std::span<const FormRow> choice_forms() { return kChoiceForms; }

}  // namespace isthmus::ethos_u
