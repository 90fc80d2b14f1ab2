// Forms of pools, of the mean over an image, and of resizing.
#include <fmt/format.h>

#include <algorithm>

#include "targets/xnnpack/forms/form_families.h"
#include "targets/xnnpack/lowering.h"

namespace isthmus::xnnpack {
namespace {

using xnn::NodeKind;

xnn::PoolFields pool_fields(const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation) {
  xnn::PoolFields fields;
  fields.padding_top = u32(padding[0]);
  fields.padding_bottom = u32(padding[1]);
  fields.padding_left = u32(padding[2]);
  fields.padding_right = u32(padding[3]);
  fields.pooling_height = u32(kernel[0]);
  fields.pooling_width = u32(kernel[1]);
  fields.stride_height = u32(stride[0]);
  fields.stride_width = u32(stride[1]);
  fields.dilation_height = u32(dilation[0]);
  fields.dilation_width = u32(dilation[1]);
  return fields;
}

std::optional<Reason> refuse_window(const Graph& graph, const Node& node, const Ints& kernel, const Ints& padding,
                                    const Ints& dilation, bool ceil_mode) {
  if (graph.type(node.inputs[0]).rank() != 4) return Reason{ReasonCode::kRanks, "a pool without a batch"};
  if (ceil_mode) return Reason{ReasonCode::kKernelSize, "windows that extend past the padding"};
  if (kernel[0] * kernel[1] == 1) return Reason{ReasonCode::kKernelSize, "a window of one element"};
  for (std::size_t i = 0; i < 4; ++i) {
    if (padding[i] < 0 || padding[i] > (kernel[i / 2] - 1) * dilation[i / 2]) {
      return Reason{ReasonCode::kKernelSize, "padding as large as the window"};
    }
  }
  return std::nullopt;
}

void max_pool2d(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<MaxPoolAttrs>(node.attrs);
  const std::uint32_t input = lowering.input(0);
  lowering.append({NodeKind::kMaxPool2d,
                   {input},
                   {lowering.result()},
                   pool_fields(attrs.kernel, attrs.stride, attrs.padding, attrs.dilation),
                   0,
                   {},
                   0});
}
std::optional<Reason> refuse_max_pool2d(const Graph& graph, const Node& node) {
  const auto& attrs = std::get<MaxPoolAttrs>(node.attrs);
  if (attrs.stride[0] > attrs.kernel[0] || attrs.stride[1] > attrs.kernel[1]) {
    return Reason{ReasonCode::kKernelSize, "a stride beyond the window"};
  }
  if (attrs.dilation != Ints{1, 1} && attrs.padding != Ints{0, 0, 0, 0}) {
    return Reason{ReasonCode::kKernelSize, "dilation and padding"};
  }
  return refuse_window(graph, node, attrs.kernel, attrs.padding, attrs.dilation, attrs.ceil_mode);
}

void avg_pool2d(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<AvgPoolAttrs>(node.attrs);
  const std::uint32_t input = lowering.input(0);
  lowering.append({NodeKind::kAvgPool2d,
                   {input},
                   {lowering.result()},
                   pool_fields(attrs.kernel, attrs.stride, attrs.padding, {1, 1}),
                   0,
                   {},
                   0});
}
// The delegate divides by what of a window lies inside the image.
std::optional<Reason> refuse_avg_pool2d(const Graph& graph, const Node& node) {
  const auto& attrs = std::get<AvgPoolAttrs>(node.attrs);
  if (attrs.divisor != 0) return Reason{ReasonCode::kNoForm, fmt::format("a divisor of {}", attrs.divisor)};
  if (attrs.count_include_pad && attrs.padding != Ints{0, 0, 0, 0}) {
    return Reason{ReasonCode::kNoForm, "an average that includes the padding"};
  }
  return refuse_window(graph, node, attrs.kernel, attrs.padding, {1, 1}, attrs.ceil_mode);
}

void mean(Lowering& lowering, const Node&) {
  constexpr std::uint32_t kKeepDims = 0x40;
  const std::uint32_t input = lowering.input(0);
  lowering.append({NodeKind::kGlobalAvgPool2d, {input}, {lowering.result()}, {}, kKeepDims, {}, 0});
}
std::optional<Reason> refuse_mean(const Graph& graph, const Node& node) {
  const auto& attrs = std::get<ReduceAttrs>(node.attrs);
  if (graph.type(node.inputs[0]).rank() == 4 && attrs.axes == Ints{2, 3} && attrs.keepdim) return std::nullopt;
  return Reason{ReasonCode::kNoForm, "a mean over axes other than height and width"};
}

// Of quantized values the library keeps sums in a memory that it does not enlarge with the batch: it writes beyond its
// end.
std::optional<Reason> refuse_quantized_mean(const Graph& graph, const Node& node) {
  const Shape& shape = graph.type(node.outputs[0]).shape;
  if (std::ranges::all_of(shape, [](Dim dim) { return dim.is_fixed(); })) return std::nullopt;
  return Reason{ReasonCode::kDynamicShape, "a mean of int8 values of " + shape_text(graph, shape)};
}

void resize2d(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<ResizeAttrs>(node.attrs);
  constexpr std::uint32_t kAlignCorners = 8;
  const std::uint32_t input = lowering.input(0);
  lowering.append({NodeKind::kResizeBilinear,
                   {input},
                   {lowering.result()},
                   xnn::ResizeFields{u32(attrs.size[0].value()), u32(attrs.size[1].value())},
                   attrs.align_corners ? kAlignCorners : 0,
                   {},
                   0});
}
std::optional<Reason> refuse_resize2d(const Graph& graph, const Node& node) {
  const auto& attrs = std::get<ResizeAttrs>(node.attrs);
  const Shape& shape = graph.type(node.inputs[0]).shape;
  if (attrs.mode != ResizeMode::kLinear) return Reason{ReasonCode::kNoForm, "not linear"};
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim from = shape[2 + i];
    if (!attrs.size[i].is_fixed() || !from.is_fixed()) return Reason{ReasonCode::kDynamicShape, "a dynamic size"};
    // The delegate takes the ratio of the sizes.
    const double ratio = static_cast<double>(attrs.size[i].value()) / static_cast<double>(from.value());
    if (!attrs.align_corners && !attrs.scales.empty() && attrs.scales[i] != ratio) {
      return Reason{ReasonCode::kNoForm, fmt::format("a scale of {}, not {}", attrs.scales[i], ratio)};
    }
    if (attrs.size[i].value() >= 1 << 24) return Reason{ReasonCode::kKernelSize, "an image of this size"};
    if (attrs.align_corners && attrs.size[i].is(1))
      return Reason{ReasonCode::kNoForm, "align_corners with a size of one pixel"};
  }
  return std::nullopt;
}

constexpr FormRow kPoolForms[] = {
    {.op = Op::kMaxPool2d,
     .order = image_order,
     .refusal = refuse_max_pool2d,
     .lower = max_pool2d,
     .has_bounds = true,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kAvgPool2d, .order = image_order, .refusal = refuse_avg_pool2d, .lower = avg_pool2d, .has_bounds = true},
    {.op = Op::kMean,
     .order = image_order,
     .refusal = refuse_mean,
     .lower = mean,
     .quantized = QuantizedForm::kAlike,
     .quantization_refusal = refuse_quantized_mean},
    {.op = Op::kResize2d,
     .order = image_order,
     .refusal = refuse_resize2d,
     .lower = resize2d,
     .quantized = QuantizedForm::kAlike},
};

}  // namespace

std::span<const FormRow> pool_forms() { return kPoolForms; }

}  // namespace isthmus::xnnpack
