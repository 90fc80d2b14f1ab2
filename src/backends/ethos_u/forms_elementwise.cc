// Forms of functions of one and two numbers, each at its place.
#include <fmt/format.h>

#include <algorithm>

#include "backends/ethos_u/form_families.h"

namespace isthmus::ethos_u {
namespace {

// An operand without its zero point, as 32 bits, of the result's rank.
Chain widened(const FormContext& context, std::size_t i) {
  Chain chain(context.input(i));
  chain.reshape(with_rank(context.input(i).shape, context.result().shape.size())).rescale(tosa::Type::kI32);
  return chain;
}

template <tosa::Op kOp>
Forms binary(const FormContext& context) {
  const TosaTensor result = context.result();
  Chain chain = widened(context, 0);
  chain.with(kOp, widened(context, 1), {tosa::Type::kI32, result.shape}).rescale(result.type);
  return std::move(chain).result();
}

// Tables of 16 bits have 7 bits more than their entries.
Forms table(const FormContext& context) {
  const TosaTensor result = context.result();
  const bool is_wide = context.input().type == tosa::Type::kI16;
  Chain chain(context.input());
  chain.then(tosa::Op::kTable, {is_wide ? tosa::Type::kI32 : tosa::Type::kI8, result.shape});
  if (chain.current().type != result.type) chain.rescale(result.type);
  return std::move(chain).result();
}

// A function of one number where the other one is known.
Forms table_of_one(const FormContext& context) {
  for (const std::size_t known : {1, 0}) {
    const Ints shape = context.shape(context.node.inputs[known]);
    const bool is_number = std::ranges::all_of(shape, [](auto size) { return size == 1; });
    if (!context.is_constant(known) || !is_number) continue;
    if (context.shape(context.node.inputs[1 - known]) != context.result().shape) continue;
    const TosaTensor input = context.input(1 - known);
    const bool is_wide = input.type == tosa::Type::kI16;
    Chain chain(input);
    chain.then(tosa::Op::kTable, {is_wide ? tosa::Type::kI32 : tosa::Type::kI8, input.shape});
    if (chain.current().type != context.result().type) chain.rescale(context.result().type);
    return std::move(chain).result();
  }
  return refused(ReasonCode::kNoForm, fmt::format("{} of two tensors", name_of(context.node.op)));
}

Forms clamp(const FormContext& context) {
  Chain chain(context.input());
  chain.then(tosa::Op::kClamp, context.result());
  return std::move(chain).result();
}

Forms rescale(const FormContext& context) {
  Chain chain(context.input());
  chain.rescale(context.result().type);
  return std::move(chain).result();
}

constexpr FormRow table_row(Op op) { return {op, tosa::Op::kTable, table}; }

constexpr FormRow kElementwiseForms[] = {
    {Op::kAdd, tosa::Op::kAdd, binary<tosa::Op::kAdd>, true},
    {Op::kSub, tosa::Op::kSub, binary<tosa::Op::kSub>, true},
    {Op::kMul, tosa::Op::kMul, binary<tosa::Op::kMul>, true},
    {Op::kMinimum, tosa::Op::kMinimum, binary<tosa::Op::kMinimum>, true},
    {Op::kMaximum, tosa::Op::kMaximum, binary<tosa::Op::kMaximum>, true},
    {Op::kRescale, tosa::Op::kRescale, rescale, true},
    {Op::kClamp, tosa::Op::kClamp, clamp},
    {Op::kPow, tosa::Op::kTable, table_of_one},
    table_row(Op::kNeg),
    table_row(Op::kAbs),
    table_row(Op::kSign),
    table_row(Op::kExp),
    table_row(Op::kExp2),
    table_row(Op::kExpm1),
    table_row(Op::kLog),
    table_row(Op::kLog2),
    table_row(Op::kLog10),
    table_row(Op::kLog1p),
    table_row(Op::kSqrt),
    table_row(Op::kRsqrt),
    table_row(Op::kReciprocal),
    table_row(Op::kSin),
    table_row(Op::kCos),
    table_row(Op::kTan),
    table_row(Op::kAsin),
    table_row(Op::kAcos),
    table_row(Op::kAtan),
    table_row(Op::kSinh),
    table_row(Op::kCosh),
    table_row(Op::kAsinh),
    table_row(Op::kAcosh),
    table_row(Op::kAtanh),
    table_row(Op::kErf),
    table_row(Op::kErfc),
    table_row(Op::kFloor),
    table_row(Op::kCeil),
    table_row(Op::kRound),
    table_row(Op::kTrunc),
    table_row(Op::kSigmoid),
    table_row(Op::kTanh),
    table_row(Op::kSilu),
    table_row(Op::kHardswish),
    table_row(Op::kHardsigmoid),
    table_row(Op::kMish),
    table_row(Op::kLogSigmoid),
    table_row(Op::kGelu),
    table_row(Op::kElu),
    table_row(Op::kLeakyRelu),
    table_row(Op::kSoftplus),
    table_row(Op::kHardshrink),
    table_row(Op::kSoftshrink),
    table_row(Op::kNanToNum),
};

}  // namespace

std::span<const FormRow> elementwise_forms() { return kElementwiseForms; }

}  // namespace isthmus::ethos_u
