// Forms of convolutions, linear layers and products of two tensors.
#include <fmt/format.h>

#include <algorithm>

#include "targets/xnnpack/forms/form_families.h"
#include "targets/xnnpack/lowering.h"

namespace isthmus::xnnpack {
namespace {

using xnn::NodeKind;

std::vector<std::int64_t> sizes_of(const Graph& graph, ValueId id) { return graph.constant(id)->data->sizes; }

// All inputs behind the first are constants of a shape that is known.
std::optional<Reason> refuse_weights(const Graph& graph, const Node& node) {
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (graph.constant(node.inputs[i]) == nullptr) {
      return Reason{ReasonCode::kNeedsConstant, fmt::format("%{} is not a constant", graph[node.inputs[i]].name)};
    }
  }
  return std::nullopt;
}

std::uint32_t bias(Lowering& lowering, const Node& node) {
  if (node.inputs.size() < 3) return xnn::kNone;
  return lowering.weights(2, row_major(1), {u32(sizes_of(lowering.graph(), node.inputs[2])[0])});
}

OrderDemand linear_order(const Graph& graph, const Node& node) {
  return {OrderRule::kInnermost, 1, static_cast<std::int64_t>(graph.type(node.outputs[0]).rank()) - 1};
}
void linear(Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  const bool quantizes_rows = graph.type(node.inputs[1]).quant && !graph.type(node.inputs[0]).quant;
  const std::uint32_t input = quantizes_rows ? lowering.quantized_rows(lowering.input(0)) : lowering.input(0);
  const auto sizes = sizes_of(lowering.graph(), node.inputs[1]);
  const std::uint32_t filter = lowering.weights(1, row_major(2), {u32(sizes[0]), u32(sizes[1])});
  const std::uint32_t added = bias(lowering, node);
  lowering.append({NodeKind::kFullyConnected, {input, filter, added}, {lowering.result()}, {}, 0, {}, 0});
}

OrderDemand matmul_order(const Graph&, const Node&) { return {OrderRule::kMatmul, 2}; }
void matmul(Lowering& lowering, const Node&) {
  const std::uint32_t a = lowering.input(0);
  const std::uint32_t b = lowering.input(1);
  const std::uint32_t is_turned = lowering.read_order(1) == row_major(lowering.read_order(1).size()) ? 0 : 1;
  lowering.append({NodeKind::kBatchMatmul, {a, b}, {lowering.result()}, {}, is_turned, {}, 0});
}
std::optional<Reason> refuse_matmul(const Graph& graph, const Node& node) {
  const std::size_t a = graph.type(node.inputs[0]).rank();
  const std::size_t b = graph.type(node.inputs[1]).rank();
  if (a == b && a >= 2) return std::nullopt;
  return Reason{ReasonCode::kRanks, fmt::format("a product of ranks {} and {}", a, b)};
}

struct Window {
  const Ints& padding;  // top, bottom, left, right
  const Ints& stride;
  const Ints& dilation;
};
xnn::ConvFields conv_fields(const Window& window, std::int64_t height, std::int64_t width, std::int64_t groups,
                            std::int64_t inputs, std::int64_t outputs) {
  xnn::ConvFields fields;
  fields.padding_top = u32(window.padding[0]);
  fields.padding_bottom = u32(window.padding[1]);
  fields.padding_left = u32(window.padding[2]);
  fields.padding_right = u32(window.padding[3]);
  fields.kernel_height = u32(height);
  fields.kernel_width = u32(width);
  fields.stride_height = u32(window.stride[0]);
  fields.stride_width = u32(window.stride[1]);
  fields.dilation_height = u32(window.dilation[0]);
  fields.dilation_width = u32(window.dilation[1]);
  fields.groups = u32(groups);
  fields.group_input_channels = u32(inputs);
  fields.group_output_channels = u32(outputs);
  return fields;
}

void conv2d(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<ConvAttrs>(node.attrs);
  const std::uint32_t input = lowering.input(0);
  const auto sizes = sizes_of(lowering.graph(), node.inputs[1]);  // [O, I / groups, H, W]
  const xnn::ConvFields fields = conv_fields({attrs.padding, attrs.stride, attrs.dilation}, sizes[2], sizes[3],
                                             attrs.groups, sizes[1], sizes[0] / attrs.groups);
  const bool is_depthwise = sizes[1] == 1 && attrs.groups > 1;
  const std::uint32_t filter =
      is_depthwise ? lowering.weights(1, {1, 2, 3, 0}, {1, u32(sizes[2]), u32(sizes[3]), u32(sizes[0])})
                   : lowering.weights(1, kChannelsLast, {u32(sizes[0]), u32(sizes[2]), u32(sizes[3]), u32(sizes[1])});
  const std::uint32_t added = bias(lowering, node);
  lowering.append({is_depthwise ? NodeKind::kDepthwiseConv2d : NodeKind::kConv2d,
                   {input, filter, added},
                   {lowering.result()},
                   fields,
                   0,
                   {},
                   0});
}
std::optional<Reason> refuse_conv2d(const Graph& graph, const Node& node) {
  if (graph.type(node.inputs[0]).rank() != 4) return Reason{ReasonCode::kRanks, "a convolution without a batch"};
  const auto& attrs = std::get<ConvAttrs>(node.attrs);
  if (std::ranges::any_of(attrs.padding, [](auto side) { return side < 0; })) {
    return Reason{ReasonCode::kKernelSize, "a negative padding"};
  }
  return refuse_weights(graph, node);
}

// What is cut from the end; where more than nothing is added there, `adjustment` is that.
struct Cut {
  std::int64_t padding;
  std::int64_t adjustment;
};
Cut cut_of(std::int64_t padding) { return {std::max<std::int64_t>(padding, 0), std::max<std::int64_t>(-padding, 0)}; }

void conv_transpose2d(Lowering& lowering, const Node& node) {
  const auto& attrs = std::get<ConvTransposeAttrs>(node.attrs);
  const std::uint32_t input = lowering.input(0);
  const auto sizes = sizes_of(lowering.graph(), node.inputs[1]);  // [I, O / groups, H, W]
  const std::int64_t inputs = sizes[0] / attrs.groups;
  const std::int64_t outputs = sizes[1] * attrs.groups;
  const Cut vertical = cut_of(attrs.padding[1]);
  const Cut horizontal = cut_of(attrs.padding[3]);
  const Ints padding{attrs.padding[0], vertical.padding, attrs.padding[2], horizontal.padding};
  xnn::ConvFields fields =
      conv_fields({padding, attrs.stride, attrs.dilation}, sizes[2], sizes[3], attrs.groups, inputs, sizes[1]);
  fields.adjustment_height = u32(vertical.adjustment);
  fields.adjustment_width = u32(horizontal.adjustment);
  // The filters of a group lie side by side.
  const std::uint32_t filter =
      lowering.weights(1, {0, 2, 3, 4, 1}, {u32(outputs), u32(sizes[2]), u32(sizes[3]), u32(inputs)}, attrs.groups);
  const std::uint32_t added = bias(lowering, node);
  lowering.append(
      {NodeKind::kConvTranspose2d, {input, filter, added}, {lowering.result()}, std::move(fields), 0, {}, 0});
}
std::optional<Reason> refuse_conv_transpose2d(const Graph& graph, const Node& node) {
  if (graph.type(node.inputs[0]).rank() != 4) return Reason{ReasonCode::kRanks, "a convolution without a batch"};
  const auto& attrs = std::get<ConvTransposeAttrs>(node.attrs);
  if (attrs.padding[0] < 0 || attrs.padding[2] < 0 || cut_of(attrs.padding[1]).adjustment >= attrs.stride[0] ||
      cut_of(attrs.padding[3]).adjustment >= attrs.stride[1]) {
    return Reason{ReasonCode::kKernelSize, "an output padding as large as the stride"};
  }
  return refuse_weights(graph, node);
}

constexpr FormRow kProductForms[] = {
    {.op = Op::kLinear,
     .order = linear_order,
     .refusal = refuse_weights,
     .lower = linear,
     .has_bounds = true,
     .quantized = QuantizedForm::kAlike,
     .quantizes_rows = true},
    {.op = Op::kMatmul, .order = matmul_order, .refusal = refuse_matmul, .lower = matmul},
    {.op = Op::kConv2d,
     .order = image_order,
     .refusal = refuse_conv2d,
     .lower = conv2d,
     .has_bounds = true,
     .quantized = QuantizedForm::kAlike},
    {.op = Op::kConvTranspose2d,
     .order = image_order,
     .refusal = refuse_conv_transpose2d,
     .lower = conv_transpose2d,
     .has_bounds = true,
     .quantized = QuantizedForm::kAlike,
     .weight_axis = 1},
};

}  // namespace

std::span<const FormRow> product_forms() { return kProductForms; }

}  // namespace isthmus::xnnpack
