// Host ops on each element: arithmetic, comparisons, logic, functions.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "lower/host_ops.h"

namespace isthmus {
namespace {

// a + alpha * b
Expected<void> write_sum(HostNode& node) {
  return node.finish({TRY(node.input(0)), TRY(node.input(1)), node.integer(1)});
}

Expected<void> write_exp2(HostNode& node) {
  return node.finish({node.number(2, node.type(0).dtype), TRY(node.input(0))});
}

// The kernel leaves a negative zero negative.
Expected<void> write_abs(HostNode& node) {
  const TensorType& type = node.result_type();
  if (!is_floating(type.dtype)) return write_inputs(node);
  const pte::ValueIndex size = TRY(node.row_step({TRY(node.input(0))}, type));
  return node.finish("aten::add.Scalar_out", {size, node.real(0), node.integer(1)});
}

// The kernel's sign of NaN is NaN, PyTorch's is 0.
Expected<void> write_sign(HostNode& node) {
  const TensorType& type = node.result_type();
  if (!is_floating(type.dtype)) return write_inputs(node);
  const pte::ValueIndex x = TRY(node.input(0));
  const pte::ValueIndex sign = TRY(node.row_step({x}, type));
  const pte::ValueIndex is_nan = TRY(node.step("aten::isnan.out", {x}, {DType::kBool, type.shape}));
  return node.finish("aten::masked_fill.Scalar_out", {sign, is_nan, node.real(0)});
}

// The numbers of a type: the kernel refuses bounds beyond them, which bound nothing.
std::pair<double, double> numbers_of(DType dtype) {
  constexpr double kHalf = 65504;
  constexpr double kBfloat = 0x1.FEp127;
  switch (dtype) {
    case DType::kF64:
      return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
    case DType::kF16:
      return {-kHalf, kHalf};
    case DType::kBF16:
      return {-kBfloat, kBfloat};
    case DType::kU8:
      return {0, 255};
    default:
      break;
  }
  if (is_floating(dtype)) return {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
  const double above = std::ldexp(1.0, static_cast<int>(8 * size_of(dtype)) - 1);
  // The largest number of 64 bits is no double; the one before it is.
  return {-above, dtype == DType::kI64 ? std::nextafter(above, 0.0) : above - 1};
}

Expected<void> write_clamp(HostNode& node) {
  const auto& [min, max] = node.as<ClampAttrs>();
  const DType dtype = node.type(0).dtype;
  const auto [least, most] = numbers_of(dtype);
  if (std::isnan(min) || std::isnan(max) || min > most || max < least) {
    return fail(
        ErrorKind::kUnsupported,
        fmt::format("ExecuTorch's kernel clamps at numbers of {}, which {} and {} are not", name_of(dtype), min, max));
  }
  const bool has_min = min >= least;
  const bool has_max = max <= most;
  const pte::ValueIndex x = TRY(node.input(0));
  if (!has_min && !has_max) {
    return node.finish("dim_order_ops::_to_dim_order_copy.out", node.cast_arguments(x, node.type(0).rank()));
  }
  return node.finish(
      {x, has_min ? node.number(min, dtype) : node.none(), has_max ? node.number(max, dtype) : node.none()});
}

Expected<void> write_gelu(HostNode& node) {
  if (node.as<GeluAttrs>().tanh && node.type(0).dtype == DType::kF64) {
    return fail(ErrorKind::kUnsupported,
                "ExecuTorch's kernel has a factor of gelu by tanh as a float; make the model f32");
  }
  return node.finish({TRY(node.input(0)), node.text(node.as<GeluAttrs>().tanh ? "tanh" : "none")});
}
Expected<void> write_elu(HostNode& node) {
  const EluAttrs& attrs = node.as<EluAttrs>();
  return node.finish(
      {TRY(node.input(0)), node.real(attrs.alpha), node.real(attrs.scale), node.real(attrs.input_scale)});
}
Expected<void> write_leaky_relu(HostNode& node) {
  return node.finish({TRY(node.input(0)), node.real(node.as<SlopeAttrs>().slope)});
}

// What is replaced is found in the input: a replacement may be infinite itself.
Expected<void> write_nan_to_num(HostNode& node) {
  const NanToNumAttrs& attrs = node.as<NanToNumAttrs>();
  const TensorType& type = node.type(0);
  const TensorType truths{DType::kBool, type.shape};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const pte::ValueIndex x = TRY(node.input(0));
  const pte::ValueIndex is_nan = TRY(node.step("aten::isnan.out", {x}, truths));
  const pte::ValueIndex is_most = TRY(node.step("aten::eq.Scalar_out", {x, node.real(kInfinity)}, truths));
  const pte::ValueIndex is_least = TRY(node.step("aten::eq.Scalar_out", {x, node.real(-kInfinity)}, truths));
  const std::string_view fill = "aten::masked_fill.Scalar_out";
  const pte::ValueIndex numbers = TRY(node.step(fill, {x, is_nan, node.real(attrs.nan)}, type));
  const pte::ValueIndex below = TRY(node.step(fill, {numbers, is_most, node.real(attrs.posinf)}, type));
  return node.finish(fill, {below, is_least, node.real(attrs.neginf)});
}

// A zero has the sign of what it is the reciprocal of.
Expected<void> write_copysign(HostNode& node) {
  const TensorType& type = node.type(0);
  const TensorType& sign = node.type(1);
  const TensorType truths{DType::kBool, sign.shape};
  const pte::ValueIndex b = TRY(node.input(1));
  const pte::ValueIndex is_below = TRY(node.step("aten::lt.Scalar_out", {b, node.real(0)}, truths));
  const pte::ValueIndex inverse = TRY(node.step("aten::reciprocal.out", {b}, sign));
  const pte::ValueIndex is_inverse_below = TRY(node.step("aten::lt.Scalar_out", {inverse, node.real(0)}, truths));
  const pte::ValueIndex is_negative = TRY(node.step("aten::logical_or.out", {is_below, is_inverse_below}, truths));
  const pte::ValueIndex any_zero = TRY(node.step("aten::abs.out", {TRY(node.input(0))}, type));
  const pte::ValueIndex size = TRY(node.step("aten::add.Scalar_out", {any_zero, node.real(0), node.integer(1)}, type));
  const pte::ValueIndex opposite = TRY(node.step("aten::neg.out", {size}, type));
  return node.finish("aten::where.self_out", {is_negative, opposite, size});
}

constexpr HostOp kElementwiseOps[] = {
    {Op::kAdd, "aten::add.out", write_sum},
    {Op::kSub, "aten::sub.out", write_sum, HostTypes::kNoBool},
    {Op::kMul, "aten::mul.out", write_inputs},
    {Op::kDiv, "aten::div.out", write_inputs},
    {Op::kMinimum, "aten::minimum.out", write_inputs},
    {Op::kMaximum, "aten::maximum.out", write_inputs},
    {Op::kAtan2, "aten::atan2.out", write_inputs},
    {Op::kCopysign, "", write_copysign},

    {Op::kEq, "aten::eq.Tensor_out", write_inputs},
    {Op::kNe, "aten::ne.Tensor_out", write_inputs},
    {Op::kLt, "aten::lt.Tensor_out", write_inputs},
    {Op::kLe, "aten::le.Tensor_out", write_inputs},
    {Op::kGt, "aten::gt.Tensor_out", write_inputs},
    {Op::kGe, "aten::ge.Tensor_out", write_inputs},
    {Op::kLogicalAnd, "aten::logical_and.out", write_inputs},
    {Op::kLogicalOr, "aten::logical_or.out", write_inputs},
    {Op::kLogicalXor, "aten::logical_xor.out", write_inputs},
    {Op::kLogicalNot, "aten::logical_not.out", write_inputs},
    {Op::kBitwiseAnd, "aten::bitwise_and.Tensor_out", write_inputs},
    {Op::kBitwiseOr, "aten::bitwise_or.Tensor_out", write_inputs},
    {Op::kBitwiseXor, "aten::bitwise_xor.Tensor_out", write_inputs},
    {Op::kBitwiseNot, "aten::bitwise_not.out", write_inputs},
    {Op::kIsNan, "aten::isnan.out", write_inputs},
    {Op::kIsInf, "aten::isinf.out", write_inputs},
    {Op::kWhere, "aten::where.self_out", write_inputs},

    {Op::kNeg, "aten::neg.out", write_inputs, HostTypes::kNoBool},
    {Op::kAbs, "aten::abs.out", write_abs, HostTypes::kNoBool},
    {Op::kSign, "aten::sign.out", write_sign},
    {Op::kExp, "aten::exp.out", write_inputs},
    {Op::kExp2, "aten::pow.Scalar_out", write_exp2},
    {Op::kExpm1, "aten::expm1.out", write_inputs},
    {Op::kLog, "aten::log.out", write_inputs},
    {Op::kLog2, "aten::log2.out", write_inputs},
    {Op::kLog10, "aten::log10.out", write_inputs},
    {Op::kLog1p, "aten::log1p.out", write_inputs},
    {Op::kSqrt, "aten::sqrt.out", write_inputs},
    {Op::kRsqrt, "aten::rsqrt.out", write_inputs},
    {Op::kReciprocal, "aten::reciprocal.out", write_inputs},
    {Op::kSin, "aten::sin.out", write_inputs},
    {Op::kCos, "aten::cos.out", write_inputs},
    {Op::kTan, "aten::tan.out", write_inputs},
    {Op::kAsin, "aten::asin.out", write_inputs},
    {Op::kAcos, "aten::acos.out", write_inputs},
    {Op::kAtan, "aten::atan.out", write_inputs},
    {Op::kSinh, "aten::sinh.out", write_inputs},
    {Op::kCosh, "aten::cosh.out", write_inputs},
    {Op::kAsinh, "aten::asinh.out", write_inputs},
    {Op::kAcosh, "aten::acosh.out", write_inputs},
    {Op::kAtanh, "aten::atanh.out", write_inputs},
    {Op::kErf, "aten::erf.out", write_inputs},
    {Op::kFloor, "aten::floor.out", write_inputs, HostTypes::kNoBool},
    {Op::kCeil, "aten::ceil.out", write_inputs, HostTypes::kNoBool},
    {Op::kRound, "aten::round.out", write_inputs, HostTypes::kNoBool},
    {Op::kTrunc, "aten::trunc.out", write_inputs, HostTypes::kNoBool},
    {Op::kSigmoid, "aten::sigmoid.out", write_inputs},
    {Op::kTanh, "aten::tanh.out", write_inputs},
    {Op::kClamp, "aten::clamp.out", write_clamp, HostTypes::kNoBool},
    {.op = Op::kGelu, .kernel = "aten::gelu.out", .write = write_gelu, .widens = true},
    {Op::kElu, "aten::elu.out", write_elu},
    {.op = Op::kLeakyRelu, .kernel = "aten::leaky_relu.out", .write = write_leaky_relu, .widens = true},
    {Op::kNanToNum, "", write_nan_to_num},
};

}  // namespace

std::span<const HostOp> host_elementwise_ops() { return kElementwiseOps; }

}  // namespace isthmus
