// Forms of reductions and norms. Inside they keep 32-bit sums and 16-bit tables: chains of 8-bit steps would lose what
// transformers need.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "backends/ethos_u/form_families.h"

namespace isthmus::ethos_u {
namespace {

using tosa::Op;
using tosa::Type;

// Sums are of 32 bits and overflow is nobody's promise: so many codes of this width surely fit.
std::int64_t most_summed(Type type) { return type == Type::kI16 ? std::int64_t{1} << 15 : std::int64_t{1} << 23; }

std::optional<Reason> too_many(const TosaTensor& input, std::int64_t count) {
  if (count <= most_summed(input.type)) return std::nullopt;
  return Reason{ReasonCode::kSumRange, fmt::format("{} codes of {} in one sum, at most {}", count,
                                                   tosa::name_of(input.type), most_summed(input.type))};
}

// From the innermost axis outwards, so that less and less is left beside them.
Forms summed(const FormContext& context) {
  const auto& attrs = context.attrs<ReduceAttrs>();
  const TosaTensor input = context.input();
  std::int64_t count = 1;
  for (const std::int64_t axis : attrs.axes) count *= input.shape[static_cast<std::size_t>(axis)];
  if (auto reason = too_many(input, count)) return tl::unexpected<Reason>(*std::move(reason));
  Chain chain(input);
  chain.rescale(Type::kI32);
  for (const std::int64_t axis : std::views::reverse(attrs.axes)) chain.reduce(Op::kReduceSum, axis);
  chain.rescale(context.result().type).reshape(context.result().shape);
  return std::move(chain).result();
}

template <Op kOp>
Forms greatest(const FormContext& context) {
  Chain chain(context.input());
  for (const std::int64_t axis : std::views::reverse(context.attrs<ReduceAttrs>().axes)) chain.reduce(kOp, axis);
  return std::move(chain.reshape(context.result().shape)).result();
}

// Rows of numbers that belong together.
TosaTensor rows_of(const TosaTensor& input, std::int64_t length) {
  std::int64_t count = 1;
  for (const std::int64_t size : input.shape) count *= size;
  return {input.type, {count / length, length}};
}

// What a positive sum of 32 bits is divided by, or its root: its leading bits through a table of 16 bits.
void append_reciprocal(Chain& chain) {
  const TosaTensor sums = chain.current();
  chain.then(Op::kClz, sums);
  chain.with(Op::kLogicalLeftShift, Chain(sums), sums).rescale(Type::kI16);
  chain.then(Op::kTable, {Type::kI32, sums.shape});
}

// Differences to the greatest through a table of exp, their sum in 32 bits, and one product.
Forms softmax(const FormContext& context) {
  const TosaTensor input = context.input();
  const std::int64_t axis = context.attrs<AxisAttrs>().axis;
  if (axis + 1 != std::ssize(input.shape)) return refused(ReasonCode::kNoForm, "a softmax over an inner axis");
  if (auto reason = too_many({Type::kI16, {}}, input.shape.back())) return tl::unexpected<Reason>(*std::move(reason));
  const TosaTensor rows = rows_of(input, input.shape.back());
  Chain chain(input);
  chain.reshape(rows.shape);
  Chain greatest_of(rows);
  greatest_of.reduce(Op::kReduceMax, 1).rescale(Type::kI32);
  const TosaTensor wide{Type::kI32, rows.shape};
  chain.rescale(Type::kI32).with(Op::kSub, greatest_of, wide).rescale(Type::kI16).then(Op::kTable, wide);
  Chain factor(wide);
  factor.reduce(Op::kReduceSum, 1);
  append_reciprocal(factor);
  chain.with(Op::kMul, factor, wide).rescale(context.result().type).reshape(context.result().shape);
  return std::move(chain).result();
}

// Differences to the mean in 16 bits, the sum of their squares in 32, its root by a table; weight and bias in the end.
Forms layer_norm(const FormContext& context) {
  const TosaTensor input = context.input();
  for (std::size_t i = 1; i < context.node.inputs.size(); ++i) {
    if (!context.is_constant(i)) return refused(ReasonCode::kNeedsConstant, "a computed weight or bias of a norm");
  }
  std::int64_t length = 1;
  const auto axes = context.attrs<LayerNormAttrs>().axes;
  for (std::int64_t i = 1; i <= axes; ++i) length *= input.shape[input.shape.size() - static_cast<std::size_t>(i)];
  if (auto reason = too_many({Type::kI16, {}}, length)) return tl::unexpected<Reason>(*std::move(reason));
  const TosaTensor rows = rows_of(input, length);
  const TosaTensor wide{Type::kI32, rows.shape};
  Chain mean({Type::kI32, rows.shape});
  mean.reduce(Op::kReduceSum, 1);
  Chain chain(input);
  chain.reshape(rows.shape).rescale(Type::kI32).with(Op::kSub, mean, wide);
  Chain factor(wide);
  factor.then(Op::kMul, wide).reduce(Op::kReduceSum, 1);
  append_reciprocal(factor);
  chain.with(Op::kMul, factor, wide).rescale(Type::kI16).rescale(Type::kI32);
  chain.then(Op::kMul, wide).then(Op::kAdd, wide).rescale(context.result().type).reshape(context.result().shape);
  return std::move(chain).result();
}

constexpr FormRow kReductionForms[] = {
    {isthmus::Op::kSum, Op::kReduceSum, summed, true},
    {isthmus::Op::kMean, Op::kReduceSum, summed, true},
    {isthmus::Op::kAmax, Op::kReduceMax, greatest<Op::kReduceMax>},
    {isthmus::Op::kAmin, Op::kReduceMin, greatest<Op::kReduceMin>},
    {isthmus::Op::kAny, Op::kReduceAny, greatest<Op::kReduceAny>},
    {isthmus::Op::kAll, Op::kReduceAll, greatest<Op::kReduceAll>},
    {isthmus::Op::kSoftmax, Op::kTable, softmax, true},
    {isthmus::Op::kLogSoftmax, Op::kTable, softmax, true},
    {isthmus::Op::kLayerNorm, Op::kTable, layer_norm, true},
};

}  // namespace

std::span<const FormRow> reduction_forms() { return kReductionForms; }

}  // namespace isthmus::ethos_u
