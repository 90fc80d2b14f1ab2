// Forms of pools and of resizing.
#include <fmt/format.h>

#include "targets/ethos_u/forms/form_families.h"

namespace isthmus::ethos_u {
namespace {

std::optional<Reason> refuse_rank(const NodeForm& form) {
  if (form.sizes(0).size() == 4) return std::nullopt;
  return Reason{ReasonCode::kRanks, "an image without a batch"};
}

std::optional<Reason> refuse_max_pool2d(const NodeForm& form) {
  if (form.attrs<MaxPoolAttrs>().dilation != Ints{1, 1}) return Reason{ReasonCode::kNoForm, "a window with gaps"};
  return refuse_rank(form);
}

// TOSA divides by what of a window lies inside the image.
std::optional<Reason> refuse_avg_pool2d(const NodeForm& form) {
  const auto& attrs = form.attrs<AvgPoolAttrs>();
  if (attrs.divisor != 0) return Reason{ReasonCode::kNoForm, fmt::format("a divisor of {}", attrs.divisor)};
  if (attrs.count_include_pad && attrs.padding != Ints{0, 0, 0, 0}) {
    return Reason{ReasonCode::kNoForm, "a mean that counts the padding"};
  }
  return refuse_rank(form);
}

struct Pooled {
  Operand image;
  std::vector<std::int32_t> pad;
};
Expected<Pooled> pooled(NodeLowering& lowering, const Ints& kernel, const Ints& stride, const Ints& padding) {
  const Operand& image = lowering.inputs[0];
  const Fitted fit = TRY(fitted(image.shape, lowering.result_shape(), kernel, stride, padding));
  return Pooled{lowering.out.slice(image, {0, 0, 0, 0}, fit.image), narrow(fit.pad)};
}

Expected<Operand> max_pool2d(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<MaxPoolAttrs>();
  const auto [image, pad] = TRY(pooled(lowering, attrs.kernel, attrs.stride, attrs.padding));
  const tosa::MaxPool fields{narrow(attrs.kernel), narrow(attrs.stride), pad};
  return lowering.out.emit(tosa::Op::kMaxPool2d, fields, {image.id}, image.type, lowering.result_shape());
}

Expected<Operand> avg_pool2d(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<AvgPoolAttrs>();
  const auto [image, pad] = TRY(pooled(lowering, attrs.kernel, attrs.stride, attrs.padding));
  const tosa::AvgPool fields{narrow(attrs.kernel), narrow(attrs.stride), pad, tosa::Type::kI32};
  const Operand zero = lowering.out.number(image.type, lowering.type().quant->zero_point);
  return lowering.out.emit(tosa::Op::kAvgPool2d, fields, {image.id, zero.id, zero.id}, image.type,
                           lowering.result_shape());
}

std::optional<Reason> refuse_resize2d(const NodeForm& form) {
  const auto& attrs = form.attrs<ResizeAttrs>();
  for (std::size_t i = 0; i < 2; ++i) {
    if (resize_axis(attrs, i, form.sizes(0)[i + 2], form.sizes()[i + 2])) continue;
    return Reason{ReasonCode::kNoForm, "a resize that is cubic, or not by the ratio of the sizes"};
  }
  return std::nullopt;
}

// Mixed pixels carry a factor of n along each axis.
Expected<Operand> resize2d(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ResizeAttrs>();
  const Operand& image = lowering.inputs[0];
  const Ints output = lowering.result_shape();
  Ints scale, offset, border;
  for (std::size_t i = 0; i < 2; ++i) {
    const ResizeAxis axis = *resize_axis(attrs, i, image.shape[i + 1], output[i + 1]);
    scale.insert(scale.end(), {axis.n, axis.d});
    offset.push_back(axis.offset);
    border.push_back(axis.border);
  }
  const bool is_bilinear = attrs.mode == ResizeMode::kLinear;
  const tosa::Resize fields{is_bilinear ? tosa::ResizeMode::kBilinear : tosa::ResizeMode::kNearest};
  const tosa::Type type = is_bilinear ? sum_type(image.type) : image.type;
  const Operand resized = lowering.out.emit(
      tosa::Op::kResize, fields,
      {image.id, lowering.out.sizes(scale), lowering.out.sizes(offset), lowering.out.sizes(border)}, type, output);
  if (!is_bilinear) return resized;
  // Quantized values with their zero points: the shares add up to one.
  const double factor = 1 / (static_cast<double>(scale[0]) * static_cast<double>(scale[2]));
  return lowering.out.rescale(resized, image.type, {{TRY(factor_of(factor, type))}});
}

constexpr FormRow kPoolForms[] = {
    {.op = Op::kMaxPool2d,
     .core = tosa::Op::kMaxPool2d,
     .order = image_order,
     .refusal = refuse_max_pool2d,
     .lower = max_pool2d},
    {.op = Op::kAvgPool2d,
     .core = tosa::Op::kAvgPool2d,
     .order = image_order,
     .refusal = refuse_avg_pool2d,
     .lower = avg_pool2d},
    {.op = Op::kResize2d,
     .core = tosa::Op::kResize,
     .order = image_order,
     .refusal = refuse_resize2d,
     .lower = resize2d},
};

}  // namespace

std::span<const FormRow> pool_forms() { return kPoolForms; }

}  // namespace isthmus::ethos_u
