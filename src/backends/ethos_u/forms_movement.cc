// Forms of what moves codes: they stay as they are.
#include <fmt/format.h>

#include <numeric>

#include "backends/ethos_u/form_families.h"

namespace isthmus::ethos_u {
namespace {

Forms reshape(const FormContext& context) {
  return std::move(Chain(context.input()).reshape(context.result().shape)).result();
}

Forms permute(const FormContext& context) {
  return std::move(Chain(context.input()).transpose(context.attrs<AxesAttrs>().axes, context.device)).result();
}

Forms expand(const FormContext& context) {
  Chain chain(context.input());
  chain.reshape(with_rank(context.input().shape, context.result().shape.size()));
  return std::move(chain.then(tosa::Op::kTile, context.result())).result();
}

Forms slice(const FormContext& context) {
  const std::int64_t step = context.attrs<SliceAttrs>().step;
  if (step != 1) return refused(ReasonCode::kNoForm, fmt::format("every {}th element", step));
  return std::move(Chain(context.input()).then(tosa::Op::kSlice, context.result())).result();
}

Forms flip(const FormContext& context) {
  Chain chain(context.input());
  for (const std::int64_t axis : context.attrs<AxesAttrs>().axes) {
    TosaForm form{tosa::Op::kReverse, {chain.current()}, chain.current()};
    form.axis = axis;
    chain.then(std::move(form));
  }
  return std::move(chain).result();
}

Forms pad(const FormContext& context) {
  if (context.attrs<PadAttrs>().mode != PadMode::kConstant) return refused(ReasonCode::kNoForm, "a mirrored pad");
  return std::move(Chain(context.input()).then(tosa::Op::kPad, context.result())).result();
}

Forms cat(const FormContext& context) {
  TosaForm form{tosa::Op::kConcat, {}, context.result()};
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) form.inputs.push_back(context.input(i));
  form.axis = context.attrs<AxisAttrs>().axis;
  return std::vector{std::move(form)};
}

// TOSA gathers rows of a batch of matrices: [N, K, C] by [N, W] is [N, W, C].
Forms index_select(const FormContext& context) {
  const TosaTensor input = context.input();
  const TosaTensor index = context.input(1);
  const auto axis = static_cast<std::ptrdiff_t>(context.attrs<AxisAttrs>().axis);
  const auto product = [](auto begin, auto end) {
    return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
  };
  const std::int64_t before = product(input.shape.begin(), input.shape.begin() + axis);
  const std::int64_t after = product(input.shape.begin() + axis + 1, input.shape.end());
  const std::int64_t size = input.shape[static_cast<std::size_t>(axis)];
  Chain rows(index);
  rows.reshape({1, index.shape[0]});
  if (before > 1) rows.then(tosa::Op::kTile, {index.type, {before, index.shape[0]}});
  Chain chain(input);
  chain.reshape({before, size, after});
  chain.with(tosa::Op::kGather, rows, {input.type, {before, index.shape[0], after}}).reshape(context.result().shape);
  return std::move(chain).result();
}

constexpr FormRow kMovementForms[] = {
    {Op::kReshape, tosa::Op::kReshape, reshape}, {Op::kPermute, tosa::Op::kTranspose, permute},
    {Op::kExpand, tosa::Op::kTile, expand},      {Op::kSlice, tosa::Op::kSlice, slice},
    {Op::kFlip, tosa::Op::kReverse, flip},       {Op::kPad, tosa::Op::kPad, pad},
    {Op::kCat, tosa::Op::kConcat, cat},          {Op::kIndexSelect, tosa::Op::kGather, index_select},
};

}  // namespace

std::span<const FormRow> movement_forms() { return kMovementForms; }

}  // namespace isthmus::ethos_u
