// Forms of convolutions and products: sums in 32 or 48 bits, then one RESCALE, by channel where the weights are.
#include "targets/ethos_u/forms/product.h"

#include <fmt/format.h>

#include "targets/ethos_u/forms/form_families.h"
#include "targets/ethos_u/limits.h"

namespace isthmus::ethos_u {
namespace {

// Weights and bias are constants: the device's compiler packs them.
std::optional<Reason> refuse_computed(const NodeForm& form) {
  for (std::size_t i = 1; i < form.node.inputs.size(); ++i) {
    if (form.is_constant(i)) continue;
    return Reason{ReasonCode::kNeedsConstant, fmt::format("%{} is computed", form.graph[form.node.inputs[i]].name)};
  }
  return std::nullopt;
}

bool is_depthwise(const NodeForm& form) {
  const std::int64_t groups = form.attrs<ConvAttrs>().groups;
  return groups > 1 && groups == form.sizes(0)[1];
}

std::optional<Reason> refuse_conv2d(const NodeForm& form) {
  if (auto reason = refuse_computed(form)) return reason;
  const std::int64_t groups = form.attrs<ConvAttrs>().groups;
  if (groups == 1 || is_depthwise(form)) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("{} groups of {} channels", groups, form.sizes(0)[1])};
}

std::optional<Reason> refuse_conv_transpose2d(const NodeForm& form) {
  if (auto reason = refuse_computed(form)) return reason;
  const auto& attrs = form.attrs<ConvTransposeAttrs>();
  if (attrs.groups != 1) return Reason{ReasonCode::kNoForm, fmt::format("{} groups", attrs.groups)};
  if (attrs.dilation == Ints{1, 1}) return std::nullopt;
  return Reason{ReasonCode::kNoForm, fmt::format("a dilation of {}", numbers_text(attrs.dilation))};
}

std::optional<Reason> refuse_matmul(const NodeForm& form) {
  const Ints a = form.sizes(0);
  const Ints b = form.sizes(1);
  if (form.type(0).dtype != form.type(1).dtype)
    return Reason{ReasonCode::kQuantizedType, "quantized values of two widths"};
  if (a.size() == 3 && b.size() == 3 && a[0] == b[0]) return std::nullopt;
  return Reason{ReasonCode::kRanks, fmt::format("a product of {} and {}, not of two batches of matrices",
                                                numbers_text(a), numbers_text(b))};
}

// From a layer's sums to its quantized values, with a factor for each result channel, of which there may be copies.
Expected<Operand> scaled(NodeLowering& lowering, const Operand& sums, std::int64_t copies = 1) {
  const Quant weight = *lowering.type(1).quant;
  const double in = static_cast<double>(lowering.type(0).quant->scale());
  const double out = static_cast<double>(lowering.type().quant->scale());
  // A transposed convolution of one group may list its one scale for each input.
  const bool is_by_channel = std::ssize(weight.scales) * copies == sums.shape.back();
  TosaBuilder::Scaling scaling{{}, 0, lowering.type().quant->zero_point};
  for (std::int64_t copy = 0; copy < (is_by_channel ? copies : 1); ++copy) {
    for (const float scale : weight.scales) {
      scaling.multipliers.push_back(TRY(factor_of(in * static_cast<double>(scale) / out, sums.type)));
      if (!is_by_channel) break;
    }
  }
  return lowering.out.rescale(sums, lowering.result_type(), scaling);
}

Operand bias_of(NodeLowering& lowering, tosa::Type sums, std::int64_t copies) {
  if (lowering.node.inputs.size() <= 2) return lowering.out.number(sums, 0);
  const std::int64_t count = lowering.sizes(2)[0];
  return lowering.out.constant(sums, {copies * count}, [&] {
    const std::vector<std::int64_t> once = lowering.integers(2, {0});
    std::vector<std::int64_t> all;
    for (std::int64_t copy = 0; copy < copies; ++copy) all.insert(all.end(), once.begin(), once.end());
    return packed(sums, all);
  });
}

// The operands behind input and weights: the bias, and the zero points of both.
std::vector<tosa::ValueIndex> with_bias(NodeLowering& lowering, const Operand& input, const Operand& weight,
                                        std::int64_t copies = 1) {
  const tosa::Type sums = sum_type(input.type);
  const Operand bias = bias_of(lowering, sums, copies);
  const Operand zero = lowering.out.number(input.type, lowering.type(0).quant->zero_point);
  return {input.id, weight.id, bias.id, zero.id, lowering.out.number(tosa::Type::kI8, 0).id};
}

Expected<Operand> plain_conv2d(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ConvAttrs>();
  const Ints weight = lowering.sizes(1);  // [O, I / groups, H, W]
  const Ints output = lowering.result_shape();
  const Operand& image = lowering.inputs[0];
  const Fitted fit =
      TRY(fitted(image.shape, output, {weight[2], weight[3]}, attrs.stride, attrs.padding, attrs.dilation));
  const Operand input = lowering.out.slice(image, {0, 0, 0, 0}, fit.image);
  const bool is_by_channel = is_depthwise(lowering);
  const std::int64_t channels = image.shape[3];
  // [H, W, C, M] of a result channel c * M + m, and [O, H, W, I].
  const Operand filters =
      is_by_channel
          ? lowering.constant(1, tosa::Type::kI8, {2, 3, 0, 1}, {weight[2], weight[3], channels, weight[0] / channels})
          : lowering.constant(1, tosa::Type::kI8, {0, 2, 3, 1}, {weight[0], weight[2], weight[3], weight[1]});
  const tosa::Conv fields{narrow(fit.pad), narrow(attrs.stride), narrow(attrs.dilation), false, sum_type(input.type)};
  const Operand sums = lowering.out.emit(is_by_channel ? tosa::Op::kDepthwiseConv2d : tosa::Op::kConv2d, fields,
                                         with_bias(lowering, input, filters), sum_type(input.type), output);
  return scaled(lowering, sums);
}

// Windows that lie side by side: the elements of each become channels, of which a window of one is made.
bool has_patches(const NodeForm& form) {
  const auto& attrs = form.attrs<ConvAttrs>();
  const Ints weight = form.sizes(1);
  return attrs.groups == 1 && attrs.stride == Ints{weight[2], weight[3]} && attrs.padding == Ints{0, 0, 0, 0} &&
         attrs.dilation == Ints{1, 1} && attrs.stride != Ints{1, 1};
}
Expected<Operand> conv2d_of_patches(NodeLowering& lowering) {
  TosaBuilder& out = lowering.out;
  const Ints weight = lowering.sizes(1);        // [O, I, H, W]
  const Ints output = lowering.result_shape();  // [N, height, width, O]
  const Ints kernel{weight[2], weight[3]};
  const Operand& image = lowering.inputs[0];
  const Ints read{output[0], output[1] * kernel[0], output[2] * kernel[1], weight[1]};
  const Operand rows = out.reshape(out.slice(image, {0, 0, 0, 0}, read),
                                   {output[0] * output[1], kernel[0], output[2], kernel[1] * weight[1]});
  const std::int64_t depth = kernel[0] * kernel[1] * weight[1];
  const Operand patches = out.reshape(out.transpose(rows, {0, 2, 1, 3}), {output[0], output[1], output[2], depth});
  const Operand filters = lowering.constant(1, tosa::Type::kI8, {0, 2, 3, 1}, {weight[0], 1, 1, depth});
  const tosa::Conv fields{{0, 0, 0, 0}, {1, 1}, {1, 1}, false, sum_type(image.type)};
  const Operand sums =
      out.emit(tosa::Op::kConv2d, fields, with_bias(lowering, patches, filters), sum_type(image.type), output);
  return scaled(lowering, sums);
}

Expected<Operand> conv2d(NodeLowering& lowering) {
  if (has_patches(lowering)) return cheaper(lowering, plain_conv2d, conv2d_of_patches);
  if (has_pairs(lowering)) return cheaper(lowering, plain_conv2d, product_of_pairs);
  if (has_columns(lowering)) return cheaper(lowering, plain_conv2d, conv2d_of_columns);
  return plain_conv2d(lowering);
}

Expected<Operand> conv_transpose2d(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ConvTransposeAttrs>();
  const Ints weight = lowering.sizes(1);  // [I, O, H, W]
  const Operand& image = lowering.inputs[0];
  const Operand filters =
      lowering.constant(1, tosa::Type::kI8, {1, 2, 3, 0}, {weight[1], weight[2], weight[3], weight[0]});
  tosa::TransposeConv fields{{}, narrow(attrs.stride), false, sum_type(image.type)};
  for (const std::int64_t cut : attrs.padding) fields.out_pad.push_back(static_cast<std::int32_t>(-cut));
  const Operand sums =
      lowering.out.emit(tosa::Op::kTransposeConv2d, std::move(fields), with_bias(lowering, image, filters),
                        sum_type(image.type), lowering.result_shape());
  return scaled(lowering, sums);
}

// A convolution by 1x1 over all rows.
Expected<Operand> plain_linear(NodeLowering& lowering) {
  const Ints weight = lowering.sizes(1);  // [O, I]
  const Operand& x = lowering.inputs[0];
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < x.shape.size(); ++i) rows *= x.shape[i];
  const Ints image = image_of_rows(rows);
  const Operand input = lowering.out.reshape(x, {1, image[0], image[1], weight[1]});
  const Operand filters = lowering.constant(1, tosa::Type::kI8, {0, 1}, {weight[0], 1, 1, weight[1]});
  const tosa::Conv fields{{0, 0, 0, 0}, {1, 1}, {1, 1}, false, sum_type(input.type)};
  const Operand sums = lowering.out.emit(tosa::Op::kConv2d, fields, with_bias(lowering, input, filters),
                                         sum_type(input.type), {1, image[0], image[1], weight[0]});
  return lowering.out.reshape(TRY(scaled(lowering, sums)), lowering.result_shape());
}

Expected<Operand> linear(NodeLowering& lowering) {
  return has_pairs(lowering) ? cheaper(lowering, plain_linear, product_of_pairs) : plain_linear(lowering);
}

Expected<Operand> matmul(NodeLowering& lowering) {
  const Operand& a = lowering.inputs[0];
  const Operand& b = lowering.inputs[1];
  const Operand a_zero = lowering.out.number(a.type, lowering.type(0).quant->zero_point);
  const Operand b_zero = lowering.out.number(b.type, lowering.type(1).quant->zero_point);
  const Operand sums = lowering.out.emit(tosa::Op::kMatMul, tosa::Nothing{}, {a.id, b.id, a_zero.id, b_zero.id},
                                         sum_type(a.type), lowering.result_shape());
  const double factor = static_cast<double>(lowering.type(0).quant->scale()) *
                        static_cast<double>(lowering.type(1).quant->scale()) /
                        static_cast<double>(lowering.type().quant->scale());
  return to_quantized(lowering, sums, factor);
}

constexpr FormRow kProductForms[] = {
    {.op = Op::kConv2d,
     .core = tosa::Op::kConv2d,
     .order = image_order,
     .refusal = refuse_conv2d,
     .lower = conv2d,
     .has_bounds = true},
    {.op = Op::kConvTranspose2d,
     .core = tosa::Op::kTransposeConv2d,
     .order = image_order,
     .refusal = refuse_conv_transpose2d,
     .lower = conv_transpose2d,
     .has_bounds = true},
    {.op = Op::kLinear,
     .core = tosa::Op::kConv2d,
     .order = last_innermost,
     .refusal = refuse_computed,
     .lower = linear,
     .has_bounds = true},
    {.op = Op::kMatmul,
     .core = tosa::Op::kMatMul,
     .order = plain_order,
     .refusal = refuse_matmul,
     .lower = matmul,
     .has_bounds = true},
};

}  // namespace

Ints image_of_rows(std::int64_t rows) {
  std::int64_t height = 1;
  while (rows / height > kMaxCount && height < kMaxCount) {
    do {
      ++height;
    } while (rows % height != 0 && height < kMaxCount);
  }
  return rows % height == 0 ? Ints{height, rows / height} : Ints{1, rows};
}

Expected<Operand> convolved(NodeLowering& lowering, const Operand& image, const Filters& filters, Ints pad, Ints stride,
                            Ints dilation, Ints result) {
  const std::int64_t copies = filters.shape[0] / lowering.sizes(1)[0];
  const Operand weights =
      lowering.out.constant(tosa::Type::kI8, filters.shape, [&] { return packed(tosa::Type::kI8, filters.numbers()); });
  const tosa::Conv fields{narrow(pad), narrow(stride), narrow(dilation), false, sum_type(image.type)};
  const Operand sums = lowering.out.emit(tosa::Op::kConv2d, fields, with_bias(lowering, image, weights, copies),
                                         sum_type(image.type), std::move(result));
  return scaled(lowering, sums, copies);
}

std::span<const FormRow> product_forms() { return kProductForms; }

}  // namespace isthmus::ethos_u
