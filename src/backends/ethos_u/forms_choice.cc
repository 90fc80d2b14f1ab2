// Forms of comparisons, logic and choices.
#include <fmt/format.h>

#include "backends/ethos_u/form_families.h"

namespace isthmus::ethos_u {
namespace {

using tosa::Type;

Chain operand(const FormContext& context, std::size_t i) {
  Chain chain(context.input(i));
  chain.reshape(with_rank(context.input(i).shape, context.result().shape.size()));
  return chain;
}

// Codes are compared in 32 bits, in the finer scale of the two.
template <tosa::Op kOp, bool kIsSwapped = false, bool kIsNegated = false>
Forms compare(const FormContext& context) {
  const TosaTensor result = context.result();
  Chain chain = operand(context, kIsSwapped ? 1 : 0);
  Chain other = operand(context, kIsSwapped ? 0 : 1);
  if (chain.current().type == Type::kBool) return refused(ReasonCode::kCodeType, "bools that are compared");
  if (chain.current().type != Type::kI32) chain.rescale(Type::kI32);
  if (other.current().type != Type::kI32) other.rescale(Type::kI32);
  chain.with(kOp, std::move(other), result);
  if constexpr (kIsNegated) chain.then(tosa::Op::kLogicalNot, result);
  return std::move(chain).result();
}

template <tosa::Op kOp>
Forms logical(const FormContext& context) {
  Chain chain = operand(context, 0);
  if (chain.current().type != Type::kBool) return refused(ReasonCode::kCodeType, "logic on numbers");
  if (context.node.inputs.size() == 1) return std::move(chain.then(kOp, context.result())).result();
  return std::move(chain.with(kOp, operand(context, 1), context.result())).result();
}

// By a known condition the choice is the greater of both sides, each of which is the least code where it is not chosen:
// for devices without SELECT.
Forms choice_of_greatest(const FormContext& context) {
  const TosaTensor wide{Type::kI32, context.result().shape};
  const auto side = [&](std::size_t i) {
    Chain chain = operand(context, i);
    chain.rescale(Type::kI32);
    return std::move(chain.then(tosa::Op::kMinimum, wide));
  };
  Chain chain = side(1);
  chain.with(tosa::Op::kMaximum, side(2), wide).rescale(context.result().type);
  return std::move(chain).result();
}

Forms where(const FormContext& context) {
  if (context.device == Device::kU55 && context.is_constant(0)) return choice_of_greatest(context);
  TosaForm form{tosa::Op::kSelect, {}, context.result()};
  std::vector<TosaForm> forms;
  for (std::size_t i = 0; i < 3; ++i) {
    Chain chain = operand(context, i);
    form.inputs.push_back(chain.current());
    const Forms before = std::move(chain).result();
    forms.insert(forms.end(), before->begin(), before->end());
  }
  forms.push_back(std::move(form));
  return forms;
}

constexpr FormRow kChoiceForms[] = {
    {Op::kEq, tosa::Op::kEqual, compare<tosa::Op::kEqual>},
    {Op::kNe, tosa::Op::kEqual, compare<tosa::Op::kEqual, false, true>},
    {Op::kGt, tosa::Op::kGreater, compare<tosa::Op::kGreater>},
    {Op::kLt, tosa::Op::kGreater, compare<tosa::Op::kGreater, true>},
    {Op::kGe, tosa::Op::kGreaterEqual, compare<tosa::Op::kGreaterEqual>},
    {Op::kLe, tosa::Op::kGreaterEqual, compare<tosa::Op::kGreaterEqual, true>},
    {Op::kLogicalAnd, tosa::Op::kLogicalAnd, logical<tosa::Op::kLogicalAnd>},
    {Op::kLogicalOr, tosa::Op::kLogicalOr, logical<tosa::Op::kLogicalOr>},
    {Op::kLogicalXor, tosa::Op::kLogicalXor, logical<tosa::Op::kLogicalXor>},
    {Op::kLogicalNot, tosa::Op::kLogicalNot, logical<tosa::Op::kLogicalNot>},
    {Op::kWhere, tosa::Op::kSelect, where},
};

}  // namespace

std::span<const FormRow> choice_forms() { return kChoiceForms; }

}  // namespace isthmus::ethos_u
