// The table of node kinds, and the functions that define them.
#include "engines/xnnpack/nodes.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace isthmus::xnnpack {
namespace {

using xnn::NodeKind;
using Define = xnn_status (*)(xnn_subgraph_t, const LibraryNode&);

template <xnn_unary_operator type>
xnn_status unary(xnn_subgraph_t subgraph, const LibraryNode& n) {
  return xnn_define_unary(subgraph, type, nullptr, n.inputs[0], n.outputs[0], n.node.flags);
}
template <xnn_binary_operator type>
xnn_status binary(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const xnn_binary_params params{n.min, n.max};
  return xnn_define_binary(subgraph, type, &params, n.inputs[0], n.inputs[1], n.outputs[0], n.node.flags);
}
// Those that have no bounds.
template <xnn_binary_operator type>
xnn_status plain_binary(xnn_subgraph_t subgraph, const LibraryNode& n) {
  return xnn_define_binary(subgraph, type, nullptr, n.inputs[0], n.inputs[1], n.outputs[0], n.node.flags);
}

xnn_status clamp(xnn_subgraph_t subgraph, const LibraryNode& n) {
  xnn_unary_params params;
  params.clamp.min = n.min;
  params.clamp.max = n.max;
  return xnn_define_unary(subgraph, xnn_unary_clamp, &params, n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status leaky_relu(xnn_subgraph_t subgraph, const LibraryNode& n) {
  xnn_unary_params params;
  params.leaky_relu.negative_slope = std::get<xnn::SlopeFields>(n.node.fields).slope;
  return xnn_define_unary(subgraph, xnn_unary_leaky_relu, &params, n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status elu(xnn_subgraph_t subgraph, const LibraryNode& n) {
  xnn_unary_params params;
  params.elu.alpha = std::get<xnn::SlopeFields>(n.node.fields).slope;
  return xnn_define_unary(subgraph, xnn_unary_elu, &params, n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status softmax(xnn_subgraph_t subgraph, const LibraryNode& n) {
  return xnn_define_softmax(subgraph, n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status copy(xnn_subgraph_t subgraph, const LibraryNode& n) {
  return xnn_define_copy(subgraph, n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status batch_matmul(xnn_subgraph_t subgraph, const LibraryNode& n) {
  return xnn_define_batch_matrix_multiply(subgraph, n.inputs[0], n.inputs[1], n.outputs[0], n.node.flags);
}
xnn_status fully_connected(xnn_subgraph_t subgraph, const LibraryNode& n) {
  return xnn_define_fully_connected(subgraph, n.min, n.max, n.inputs[0], n.inputs[1], n.inputs[2], n.outputs[0],
                                    n.node.flags);
}
xnn_status conv(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::ConvFields>(n.node.fields);
  return xnn_define_convolution_2d(subgraph, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                   f.kernel_height, f.kernel_width, f.stride_height, f.stride_width, f.dilation_height,
                                   f.dilation_width, f.groups, f.group_input_channels, f.group_output_channels, n.min,
                                   n.max, n.inputs[0], n.inputs[1], n.inputs[2], n.outputs[0], n.node.flags);
}
xnn_status depthwise_conv(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::ConvFields>(n.node.fields);
  return xnn_define_depthwise_convolution_2d(
      subgraph, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left, f.kernel_height, f.kernel_width,
      f.stride_height, f.stride_width, f.dilation_height, f.dilation_width, f.group_output_channels, f.groups, n.min,
      n.max, n.inputs[0], n.inputs[1], n.inputs[2], n.outputs[0], n.node.flags);
}
xnn_status conv_transpose(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::ConvFields>(n.node.fields);
  return xnn_define_deconvolution_2d(subgraph, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                     f.adjustment_height, f.adjustment_width, f.kernel_height, f.kernel_width,
                                     f.stride_height, f.stride_width, f.dilation_height, f.dilation_width, f.groups,
                                     f.group_input_channels, f.group_output_channels, n.min, n.max, n.inputs[0],
                                     n.inputs[1], n.inputs[2], n.outputs[0], n.node.flags);
}
xnn_status avg_pool(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::PoolFields>(n.node.fields);
  return xnn_define_average_pooling_2d(subgraph, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                       f.pooling_height, f.pooling_width, f.stride_height, f.stride_width, n.min, n.max,
                                       n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status max_pool(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::PoolFields>(n.node.fields);
  return xnn_define_max_pooling_2d(subgraph, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                   f.pooling_height, f.pooling_width, f.stride_height, f.stride_width,
                                   f.dilation_height, f.dilation_width, n.min, n.max, n.inputs[0], n.outputs[0],
                                   n.node.flags);
}
xnn_status argmax_pool(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::PoolFields>(n.node.fields);
  return xnn_define_argmax_pooling_2d(subgraph, f.padding_top, f.padding_right, f.padding_bottom, f.padding_left,
                                      f.pooling_height, f.pooling_width, n.inputs[0], n.outputs[0], n.outputs[1],
                                      n.node.flags);
}
xnn_status global_avg_pool(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const std::size_t axes[] = {1, 2};
  return xnn_define_static_reduce(subgraph, xnn_reduce_mean, 2, axes, n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status transpose(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& order = std::get<xnn::TransposeFields>(n.node.fields).order;
  const std::vector<std::size_t> axes(order.begin(), order.end());
  return xnn_define_static_transpose(subgraph, axes.size(), axes.data(), n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status reshape(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& shape = std::get<xnn::ReshapeFields>(n.node.fields).shape;
  const std::vector<std::size_t> dims(shape.begin(), shape.end());
  return xnn_define_static_reshape(subgraph, dims.size(), dims.data(), n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status slice(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::SliceFields>(n.node.fields);
  const std::vector<std::size_t> offsets(f.offsets.begin(), f.offsets.end());
  const std::vector<std::size_t> sizes(f.sizes.begin(), f.sizes.end());
  return xnn_define_static_slice(subgraph, sizes.size(), offsets.data(), sizes.data(), n.inputs[0], n.outputs[0],
                                 n.node.flags);
}
xnn_status pad(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::PadFields>(n.node.fields);
  const std::vector<std::size_t> before(f.before.begin(), f.before.end());
  const std::vector<std::size_t> after(f.after.begin(), f.after.end());
  return xnn_define_static_constant_pad(subgraph, before.data(), after.data(), f.value, n.inputs[0], n.outputs[0],
                                        n.node.flags);
}
xnn_status resize_bilinear(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto& f = std::get<xnn::ResizeFields>(n.node.fields);
  return xnn_define_static_resize_bilinear_2d(subgraph, f.height, f.width, n.inputs[0], n.outputs[0], n.node.flags);
}
xnn_status concat(xnn_subgraph_t subgraph, const LibraryNode& n) {
  const auto axis = static_cast<std::int32_t>(std::get<xnn::ConcatFields>(n.node.fields).axis);
  const auto in = n.inputs;
  const std::uint32_t out = n.outputs[0];
  switch (in.size()) {
    case 2:
      return xnn_define_concatenate2(subgraph, axis, in[0], in[1], out, n.node.flags);
    case 3:
      return xnn_define_concatenate3(subgraph, axis, in[0], in[1], in[2], out, n.node.flags);
    case 4:
      return xnn_define_concatenate4(subgraph, axis, in[0], in[1], in[2], in[3], out, n.node.flags);
    default:
      return xnn_define_concatenate5(subgraph, axis, in[0], in[1], in[2], in[3], in[4], out, n.node.flags);
  }
}

struct NodeRow {
  NodeKind kind;
  Define define;
  bool takes_yield_flag = true;
};

// In the order of the kinds.
constexpr NodeRow kNodes[] = {
    {NodeKind::kAdd, binary<xnn_binary_add>},
    {NodeKind::kFullyConnected, fully_connected},
    {NodeKind::kSoftmax, softmax},
    {NodeKind::kSigmoid, unary<xnn_unary_sigmoid>},
    {NodeKind::kTranspose, transpose},
    {NodeKind::kClamp, clamp},
    {NodeKind::kConv2d, conv, false},
    {NodeKind::kDivide, binary<xnn_binary_divide>},
    {NodeKind::kResizeBilinear, resize_bilinear, false},
    {NodeKind::kPad, pad},
    {NodeKind::kAvgPool2d, avg_pool},
    {NodeKind::kMinimum, plain_binary<xnn_binary_minimum>},
    {NodeKind::kDepthwiseConv2d, depthwise_conv, false},
    {NodeKind::kMaxPool2d, max_pool},
    {NodeKind::kMultiply, binary<xnn_binary_multiply>},
    {NodeKind::kSubtract, binary<xnn_binary_subtract>},
    {NodeKind::kFloor, unary<xnn_unary_floor>},
    {NodeKind::kConvert, unary<xnn_unary_convert>},
    {NodeKind::kGlobalAvgPool2d, global_avg_pool},
    {NodeKind::kReshape, reshape},
    {NodeKind::kArgMaxPool2d, argmax_pool},
    {NodeKind::kSquareRoot, unary<xnn_unary_square_root>},
    {NodeKind::kCeiling, unary<xnn_unary_ceiling>},
    {NodeKind::kHardswish, unary<xnn_unary_hardswish>},
    {NodeKind::kLeakyRelu, leaky_relu},
    {NodeKind::kMaximum, plain_binary<xnn_binary_maximum>},
    {NodeKind::kNegate, unary<xnn_unary_negate>},
    {NodeKind::kSquare, unary<xnn_unary_square>},
    {NodeKind::kElu, elu},
    {NodeKind::kAbs, unary<xnn_unary_abs>},
    {NodeKind::kPrelu, plain_binary<xnn_binary_prelu>},
    {NodeKind::kConcat2, concat},
    {NodeKind::kConcat3, concat},
    {NodeKind::kConcat4, concat},
    {NodeKind::kSlice, slice},
    {NodeKind::kAttention, nullptr},
    {NodeKind::kBatchMatmul, batch_matmul},
    {NodeKind::kConcat5, concat},
    {NodeKind::kConvTranspose2d, conv_transpose},
    {NodeKind::kReciprocalRoot, unary<xnn_unary_reciprocal_square_root>},
    {NodeKind::kLog, unary<xnn_unary_log>},
    {NodeKind::kGelu, unary<xnn_unary_gelu>},
    {NodeKind::kTanh, unary<xnn_unary_tanh>},
    {NodeKind::kExp, unary<xnn_unary_exp>},
    {NodeKind::kSin, unary<xnn_unary_sine>},
    {NodeKind::kCopy, copy},
    {NodeKind::kCos, unary<xnn_unary_cosine>},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kNodes); ++i) {
    if (static_cast<std::size_t>(kNodes[i].kind) != i + 1) return false;
  }
  return true;
}
static_assert(is_in_order());

const NodeRow& row_of(NodeKind kind) { return kNodes[static_cast<std::size_t>(kind) - 1]; }

}  // namespace

bool takes_yield_flag(NodeKind kind) { return row_of(kind).takes_yield_flag; }

xnn_status define_node(xnn_subgraph_t subgraph, const LibraryNode& node) {
  const NodeRow& row = row_of(node.node.kind);
  CHECK(row.define != nullptr, "a node that was refused before");
  return row.define(subgraph, node);
}

}  // namespace isthmus::xnnpack
