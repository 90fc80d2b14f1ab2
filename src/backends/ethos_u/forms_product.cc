// Forms of convolutions and products: sums in 32 or 48 bits, then one RESCALE, by channel where the weights are.
#include <fmt/format.h>

#include "backends/ethos_u/form_families.h"
#include "backends/ethos_u/limits.h"

namespace isthmus::ethos_u {
namespace {

// Weights and bias are constants: the device's compiler packs them.
std::optional<Reason> computed_weight(const FormContext& context) {
  for (std::size_t i = 1; i < context.node.inputs.size(); ++i) {
    if (context.is_constant(i)) continue;
    return Reason{ReasonCode::kNeedsConstant,
                  fmt::format("%{} is computed", context.graph[context.node.inputs[i]].name)};
  }
  return std::nullopt;
}

Forms conv2d(const FormContext& context) {
  if (auto reason = computed_weight(context)) return tl::unexpected<Reason>(*std::move(reason));
  const auto& attrs = context.attrs<ConvAttrs>();
  const TosaTensor input = context.input();
  const Ints weight = context.shape(context.node.inputs[1]);  // [O, I / groups, H, W]
  const std::int64_t channels = input.shape[1];
  const bool is_depthwise = attrs.groups == channels && weight[0] % channels == 0 && attrs.groups > 1;
  if (attrs.groups != 1 && !is_depthwise) {
    return refused(ReasonCode::kNoForm, fmt::format("{} groups of {} channels", attrs.groups, channels));
  }
  const Ints kernel{weight[2], weight[3]};
  const Ints image = channels_last(input.shape);
  const Ints output = channels_last(context.result().shape);
  const Fitted fit = fitted(image, output, kernel, attrs.stride, attrs.padding, attrs.dilation);
  Chain chain({input.type, image});
  if (fit.image != image) chain.then(tosa::Op::kSlice, {input.type, fit.image});
  const Ints filters = is_depthwise ? Ints{kernel[0], kernel[1], channels, weight[0] / channels}
                                    : Ints{weight[0], kernel[0], kernel[1], channels};
  TosaForm form{is_depthwise ? tosa::Op::kDepthwiseConv2d : tosa::Op::kConv2d,
                {chain.current(), {tosa::Type::kI8, filters}},
                {sum_type(input.type), output}};
  form.kernel = kernel;
  form.stride = attrs.stride;
  form.dilation = attrs.dilation;
  form.pad = fit.pad;
  return std::move(chain.then(std::move(form)).rescale(context.result().type)).result();
}

Forms conv_transpose2d(const FormContext& context) {
  if (auto reason = computed_weight(context)) return tl::unexpected<Reason>(*std::move(reason));
  const auto& attrs = context.attrs<ConvTransposeAttrs>();
  if (attrs.groups != 1) return refused(ReasonCode::kNoForm, fmt::format("{} groups", attrs.groups));
  if (attrs.dilation != Ints{1, 1}) {
    return refused(ReasonCode::kNoForm, fmt::format("a dilation of {}", numbers_text(attrs.dilation)));
  }
  const TosaTensor input = context.input();
  const Ints weight = context.shape(context.node.inputs[1]);  // [I, O, H, W]
  Chain chain({input.type, channels_last(input.shape)});
  TosaForm form{tosa::Op::kTransposeConv2d,
                {chain.current(), {tosa::Type::kI8, {weight[1], weight[2], weight[3], weight[0]}}},
                {sum_type(input.type), channels_last(context.result().shape)}};
  form.kernel = {weight[2], weight[3]};
  form.stride = attrs.stride;
  for (const std::int64_t cut : attrs.padding) form.pad.push_back(-cut);
  return std::move(chain.then(std::move(form)).rescale(context.result().type)).result();
}

// Rows as an image whose sides the device can count.
Ints image_of_rows(std::int64_t rows) {
  std::int64_t width = 1;
  while (rows / width > kMostCount && width < kMostCount) {
    do {
      ++width;
    } while (rows % width != 0 && width < kMostCount);
  }
  return rows % width == 0 ? Ints{rows / width, width} : Ints{rows, 1};
}

// A convolution by 1x1 over all rows.
Forms linear(const FormContext& context) {
  if (auto reason = computed_weight(context)) return tl::unexpected<Reason>(*std::move(reason));
  const TosaTensor input = context.input();
  const Ints weight = context.shape(context.node.inputs[1]);  // [O, I]
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < input.shape.size(); ++i) rows *= input.shape[i];
  const Ints image = image_of_rows(rows);
  Chain chain(input);
  chain.reshape({1, image[0], image[1], weight[1]});
  TosaForm form{tosa::Op::kConv2d,
                {chain.current(), {tosa::Type::kI8, {weight[0], 1, 1, weight[1]}}},
                {sum_type(input.type), {1, image[0], image[1], weight[0]}}};
  form.kernel = form.stride = form.dilation = {1, 1};
  form.pad = {0, 0, 0, 0};
  chain.then(std::move(form)).rescale(context.result().type).reshape(context.result().shape);
  return std::move(chain).result();
}

Forms matmul(const FormContext& context) {
  const TosaTensor a = context.input(0);
  const TosaTensor b = context.input(1);
  if (a.shape.size() != 3 || b.shape.size() != 3 || a.shape[0] != b.shape[0]) {
    return refused(ReasonCode::kRank, fmt::format("a product of {} and {}, not of two batches of matrices",
                                                  numbers_text(a.shape), numbers_text(b.shape)));
  }
  Chain chain(a);
  chain.with(tosa::Op::kMatMul, Chain(b), {sum_type(a.type), context.result().shape}).rescale(context.result().type);
  return std::move(chain).result();
}

constexpr FormRow kProductForms[] = {
    {Op::kConv2d, tosa::Op::kConv2d, conv2d, true},
    {Op::kConvTranspose2d, tosa::Op::kTransposeConv2d, conv_transpose2d, true},
    {Op::kLinear, tosa::Op::kConv2d, linear, true},
    {Op::kMatmul, tosa::Op::kMatMul, matmul, true},
};

}  // namespace

std::span<const FormRow> product_forms() { return kProductForms; }

}  // namespace isthmus::ethos_u
