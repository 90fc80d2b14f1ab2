// Forms of pools and of resizing.
#include <fmt/format.h>

#include "backends/ethos_u/form_families.h"
#include "backends/ethos_u/resize_plan.h"

namespace isthmus::ethos_u {
namespace {

Forms pooled(const FormContext& context, tosa::Op op, const Ints& kernel, const Ints& stride, const Ints& padding) {
  const TosaTensor input = context.input();
  if (input.shape.size() != 4) return refused(ReasonCode::kRank, "a pool without a batch");
  const Ints image = channels_last(input.shape);
  const Ints output = channels_last(context.result().shape);
  const Fitted fit = fitted(image, output, kernel, stride, padding);
  Chain chain({input.type, image});
  if (fit.image != image) chain.then(tosa::Op::kSlice, {input.type, fit.image});
  TosaForm form{op, {chain.current()}, {input.type, output}};
  form.kernel = kernel;
  form.stride = stride;
  form.pad = fit.pad;
  return std::move(chain.then(std::move(form))).result();
}

Forms max_pool2d(const FormContext& context) {
  const auto& attrs = context.attrs<MaxPoolAttrs>();
  if (attrs.dilation != Ints{1, 1}) return refused(ReasonCode::kNoForm, "a window with gaps");
  return pooled(context, tosa::Op::kMaxPool2d, attrs.kernel, attrs.stride, attrs.padding);
}

// TOSA divides by what of a window lies inside the image.
Forms avg_pool2d(const FormContext& context) {
  const auto& attrs = context.attrs<AvgPoolAttrs>();
  if (attrs.divisor != 0) return refused(ReasonCode::kNoForm, fmt::format("a divisor of {}", attrs.divisor));
  if (attrs.count_include_pad && attrs.padding != Ints{0, 0, 0, 0}) {
    return refused(ReasonCode::kNoForm, "a mean that counts the padding");
  }
  return pooled(context, tosa::Op::kAvgPool2d, attrs.kernel, attrs.stride, attrs.padding);
}

Forms resize2d(const FormContext& context) {
  const TosaTensor input = context.input();
  const auto plan = resize_plan(context.attrs<ResizeAttrs>(), {input.shape[2], input.shape[3]});
  if (!plan) return refused(ReasonCode::kNoForm, "a resize that is cubic, or not by the ratio of the sizes");
  Chain chain({input.type, channels_last(input.shape)});
  TosaForm form{tosa::Op::kResize,
                {chain.current()},
                {plan->is_bilinear ? sum_type(input.type) : input.type, channels_last(context.result().shape)}};
  form.is_bilinear = plan->is_bilinear;
  form.scale = plan->scale;
  form.offset = plan->offset;
  form.border = plan->border;
  chain.then(std::move(form));
  if (plan->is_bilinear) chain.rescale(input.type);
  return std::move(chain).result();
}

constexpr FormRow kPoolForms[] = {
    {Op::kMaxPool2d, tosa::Op::kMaxPool2d, max_pool2d},
    {Op::kAvgPool2d, tosa::Op::kAvgPool2d, avg_pool2d},
    {Op::kResize2d, tosa::Op::kResize, resize2d},
};

}  // namespace

std::span<const FormRow> pool_forms() { return kPoolForms; }

}  // namespace isthmus::ethos_u
