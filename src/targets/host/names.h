// The names of kernels that calls of other ops use too: a name stands once, here or in its row.
#pragma once

#include <string_view>

namespace isthmus::host::names {

inline constexpr std::string_view kAbs = "aten::abs.out";
inline constexpr std::string_view kAddNumber = "aten::add.Scalar_out";
inline constexpr std::string_view kAdd = "aten::add.out";
inline constexpr std::string_view kAddmm = "aten::addmm.out";
inline constexpr std::string_view kAny = "aten::any.dims_out";
inline constexpr std::string_view kBmm = "aten::bmm.out";
inline constexpr std::string_view kClamp = "aten::clamp.out";
inline constexpr std::string_view kClone = "aten::clone.out";
inline constexpr std::string_view kConstantPad = "aten::constant_pad_nd.out";
inline constexpr std::string_view kConvolution = "aten::convolution.out";
inline constexpr std::string_view kCopyInPlace = "aten::copy_";
inline constexpr std::string_view kCumsum = "aten::cumsum.out";
inline constexpr std::string_view kDiv = "aten::div.out";
inline constexpr std::string_view kEmbedding = "aten::embedding.out";
inline constexpr std::string_view kEqNumber = "aten::eq.Scalar_out";
inline constexpr std::string_view kExpand = "aten::expand_copy.out";
inline constexpr std::string_view kFloor = "aten::floor.out";
inline constexpr std::string_view kFloorDivide = "aten::floor_divide.out";
inline constexpr std::string_view kFmod = "aten::fmod.Tensor_out";
inline constexpr std::string_view kGather = "aten::gather.out";
inline constexpr std::string_view kIndex = "aten::index.Tensor_out";
inline constexpr std::string_view kIsNan = "aten::isnan.out";
inline constexpr std::string_view kLogicalAnd = "aten::logical_and.out";
inline constexpr std::string_view kLogicalNot = "aten::logical_not.out";
inline constexpr std::string_view kLogicalOr = "aten::logical_or.out";
inline constexpr std::string_view kLogicalXor = "aten::logical_xor.out";
inline constexpr std::string_view kLtNumber = "aten::lt.Scalar_out";
inline constexpr std::string_view kMaskedFill = "aten::masked_fill.Scalar_out";
inline constexpr std::string_view kMaxPool = "aten::max_pool2d_with_indices.out";
inline constexpr std::string_view kMean = "aten::mean.out";
inline constexpr std::string_view kMm = "aten::mm.out";
inline constexpr std::string_view kMul = "aten::mul.out";
inline constexpr std::string_view kNe = "aten::ne.Tensor_out";
inline constexpr std::string_view kNeg = "aten::neg.out";
inline constexpr std::string_view kPermute = "aten::permute_copy.out";
inline constexpr std::string_view kProd = "aten::prod.int_out";
inline constexpr std::string_view kReciprocal = "aten::reciprocal.out";
inline constexpr std::string_view kReflectionPad1d = "aten::reflection_pad1d.out";
inline constexpr std::string_view kReflectionPad2d = "aten::reflection_pad2d.out";
inline constexpr std::string_view kReflectionPad3d = "aten::reflection_pad3d.out";
inline constexpr std::string_view kReplicationPad1d = "aten::replication_pad1d.out";
inline constexpr std::string_view kReplicationPad2d = "aten::replication_pad2d.out";
inline constexpr std::string_view kReplicationPad3d = "aten::replication_pad3d.out";
inline constexpr std::string_view kRsqrt = "aten::rsqrt.out";
inline constexpr std::string_view kSlice = "aten::slice_copy.Tensor_out";
inline constexpr std::string_view kSub = "aten::sub.out";
inline constexpr std::string_view kSizeOfAxis = "aten::sym_size.int";
inline constexpr std::string_view kTopk = "aten::topk.values";
inline constexpr std::string_view kResizeLinear = "aten::upsample_bilinear2d.vec_out";
inline constexpr std::string_view kResizeNearest = "aten::upsample_nearest2d.vec_out";
inline constexpr std::string_view kView = "aten::view_copy.out";
inline constexpr std::string_view kWhere = "aten::where.self_out";
inline constexpr std::string_view kConvert = "dim_order_ops::_to_dim_order_copy.out";
inline constexpr std::string_view kAddSizes = "executorch_prim::add.Scalar";
inline constexpr std::string_view kFloorDivideSizes = "executorch_prim::floordiv.Scalar";
inline constexpr std::string_view kMultiplySizes = "executorch_prim::mul.Scalar";
inline constexpr std::string_view kSubtractSizes = "executorch_prim::sub.Scalar";
inline constexpr std::string_view kMaxOfSizes = "executorch_prim::sym_max.Scalar";
inline constexpr std::string_view kMinOfSizes = "executorch_prim::sym_min.Scalar";
inline constexpr std::string_view kDequantizeChannels = "quantized_decomposed::dequantize_per_channel.out";
inline constexpr std::string_view kDequantizeByTensors = "quantized_decomposed::dequantize_per_tensor.Tensor_out";
inline constexpr std::string_view kDequantize = "quantized_decomposed::dequantize_per_tensor.out";
inline constexpr std::string_view kQuantizeChannels = "quantized_decomposed::quantize_per_channel.out";
inline constexpr std::string_view kQuantizeByTensors = "quantized_decomposed::quantize_per_tensor.Tensor_out";
inline constexpr std::string_view kQuantize = "quantized_decomposed::quantize_per_tensor.out";

}  // namespace isthmus::host::names
