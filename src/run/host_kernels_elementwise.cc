// Host kernels on each element: arithmetic, comparisons, logic, functions.
#include <cmath>

#include "run/host_kernels.h"

namespace isthmus::run {
namespace {

template <Op op>
Expected<void> unary(HostCall& call) {
  return call.store(1, op, NoAttrs{}, TRY(call.tensor(0)));
}
Expected<void> relu(HostCall& call) { return call.store(1, Op::kClamp, ClampAttrs{.min = 0}, TRY(call.tensor(0))); }
template <Op op>
Expected<void> binary(HostCall& call) {
  return call.store(2, op, NoAttrs{}, TRY(call.tensor(0)), TRY(call.tensor(1)));
}
// A number as an element of the tensor beside it.
Expected<Tensor> number_beside(const HostCall& call, std::size_t i, const Tensor& tensor) {
  const double number = TRY(call.number(i));
  if (is_integer(tensor.dtype()) && std::floor(number) != number) {
    return fail(ErrorKind::kUnsupported, "a fraction beside integers");
  }
  return call.compute(Op::kCast, DTypeAttrs{tensor.dtype()}, scalar(number));
}
// add and sub: the second operand is multiplied by a number.
template <Op op>
Expected<void> scaled_binary(HostCall& call) {
  const Tensor left = TRY(call.tensor(0));
  Tensor right = TRY(call.tensor(1));
  if (TRY(call.number(2)) != 1) {
    right = TRY(call.compute(Op::kMul, NoAttrs{}, right, TRY(number_beside(call, 2, right))));
  }
  return call.store(3, op, NoAttrs{}, left, right);
}
template <Op op>
Expected<void> with_number(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return call.store(2, op, NoAttrs{}, input, TRY(number_beside(call, 1, input)));
}
Expected<void> add_number(HostCall& call) {
  if (TRY(call.number(2)) != 1) return fail(ErrorKind::kUnsupported, "an alpha other than 1");
  const Tensor input = TRY(call.tensor(0));
  return call.store(3, Op::kAdd, NoAttrs{}, input, TRY(number_beside(call, 1, input)));
}
Expected<void> divide_by_mode(HostCall& call) {
  const std::string mode = TRY(call.text(2));
  if (mode != "trunc" && mode != "floor") return bad_input("a rounding mode that is neither trunc nor floor");
  const Op op = mode == "trunc" ? Op::kTruncDiv : Op::kFloorDiv;
  return call.store(3, op, NoAttrs{}, TRY(call.tensor(0)), TRY(call.tensor(1)));
}
Expected<void> power_of_number(HostCall& call) {
  const Tensor exponent = TRY(call.tensor(1));
  const Tensor base = TRY(number_beside(call, 0, exponent));
  return call.store(2, Op::kPow, NoAttrs{}, base, exponent);
}
// Numbers are true where they are not 0.
Expected<Tensor> truths(const HostCall& call, std::size_t i) {
  return call.compute(Op::kCast, DTypeAttrs{DType::kBool}, TRY(call.tensor(i)));
}
template <Op op>
Expected<void> logical(HostCall& call) {
  return call.store(2, op, NoAttrs{}, TRY(truths(call, 0)), TRY(truths(call, 1)));
}
Expected<void> logical_not(HostCall& call) { return call.store(1, Op::kLogicalNot, NoAttrs{}, TRY(truths(call, 0))); }
Expected<void> masked_fill(HostCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const Tensor filler = TRY(number_beside(call, 2, input));
  return call.store(3, Op::kWhere, NoAttrs{}, TRY(call.tensor(1)), filler, input);
}
Expected<void> where(HostCall& call) {
  const Tensor condition = TRY(call.tensor(0));
  return call.store(3, Op::kWhere, NoAttrs{}, condition, TRY(call.tensor(1)), TRY(call.tensor(2)));
}
Expected<void> clamp(HostCall& call) {
  ClampAttrs attrs;
  if (!call.is_none(1)) attrs.min = TRY(call.number(1));
  if (!call.is_none(2)) attrs.max = TRY(call.number(2));
  return call.store(3, Op::kClamp, attrs, TRY(call.tensor(0)));
}
Expected<void> gelu(HostCall& call) {
  const std::string how = TRY(call.text(1));
  if (how != "tanh" && how != "none") return bad_input("an approximation of gelu that is neither tanh nor none");
  return call.store(2, Op::kGelu, GeluAttrs{how == "tanh"}, TRY(call.tensor(0)));
}
Expected<void> elu(HostCall& call) {
  const EluAttrs attrs{TRY(call.number(1)), TRY(call.number(2)), TRY(call.number(3))};
  return call.store(4, Op::kElu, attrs, TRY(call.tensor(0)));
}
Expected<void> leaky_relu(HostCall& call) {
  return call.store(2, Op::kLeakyRelu, SlopeAttrs{TRY(call.number(1))}, TRY(call.tensor(0)));
}

constexpr HostKernel kElementwiseKernels[] = {
    {"aten::add.out", scaled_binary<Op::kAdd>},
    {"aten::add.Scalar_out", add_number},
    {"aten::eq.Scalar_out", with_number<Op::kEq>},
    {"aten::lt.Scalar_out", with_number<Op::kLt>},
    {"aten::sub.out", scaled_binary<Op::kSub>},
    {"aten::atan2.out", binary<Op::kAtan2>},
    {"aten::bitwise_and.Tensor_out", binary<Op::kBitwiseAnd>},
    {"aten::bitwise_left_shift.Tensor_out", binary<Op::kShiftLeft>},
    {"aten::bitwise_or.Tensor_out", binary<Op::kBitwiseOr>},
    {"aten::bitwise_right_shift.Tensor_out", binary<Op::kShiftRight>},
    {"aten::bitwise_xor.Tensor_out", binary<Op::kBitwiseXor>},
    {"aten::div.out", binary<Op::kDiv>},
    {"aten::eq.Tensor_out", binary<Op::kEq>},
    {"aten::floor_divide.out", binary<Op::kFloorDiv>},
    {"aten::fmod.Tensor_out", binary<Op::kFmod>},
    {"aten::ge.Tensor_out", binary<Op::kGe>},
    {"aten::gt.Tensor_out", binary<Op::kGt>},
    {"aten::le.Tensor_out", binary<Op::kLe>},
    {"aten::logical_and.out", logical<Op::kLogicalAnd>},
    {"aten::logical_or.out", logical<Op::kLogicalOr>},
    {"aten::logical_xor.out", logical<Op::kLogicalXor>},
    {"aten::lt.Tensor_out", binary<Op::kLt>},
    {"aten::maximum.out", binary<Op::kMaximum>},
    {"aten::minimum.out", binary<Op::kMinimum>},
    {"aten::mul.out", binary<Op::kMul>},
    {"aten::ne.Tensor_out", binary<Op::kNe>},
    {"aten::pow.Tensor_Tensor_out", binary<Op::kPow>},
    {"aten::remainder.Tensor_out", binary<Op::kRemainder>},
    {"aten::div.out_mode", divide_by_mode},
    {"aten::pow.Scalar_out", power_of_number},
    {"aten::where.self_out", where},
    {"aten::masked_fill.Scalar_out", masked_fill},

    {"aten::abs.out", unary<Op::kAbs>},
    {"aten::acos.out", unary<Op::kAcos>},
    {"aten::acosh.out", unary<Op::kAcosh>},
    {"aten::asin.out", unary<Op::kAsin>},
    {"aten::asinh.out", unary<Op::kAsinh>},
    {"aten::atan.out", unary<Op::kAtan>},
    {"aten::atanh.out", unary<Op::kAtanh>},
    {"aten::bitwise_not.out", unary<Op::kBitwiseNot>},
    {"aten::ceil.out", unary<Op::kCeil>},
    {"aten::cos.out", unary<Op::kCos>},
    {"aten::cosh.out", unary<Op::kCosh>},
    {"aten::erf.out", unary<Op::kErf>},
    {"aten::exp.out", unary<Op::kExp>},
    {"aten::expm1.out", unary<Op::kExpm1>},
    {"aten::floor.out", unary<Op::kFloor>},
    {"aten::isinf.out", unary<Op::kIsInf>},
    {"aten::isnan.out", unary<Op::kIsNan>},
    {"aten::log.out", unary<Op::kLog>},
    {"aten::log10.out", unary<Op::kLog10>},
    {"aten::log1p.out", unary<Op::kLog1p>},
    {"aten::log2.out", unary<Op::kLog2>},
    {"aten::logical_not.out", logical_not},
    {"aten::neg.out", unary<Op::kNeg>},
    {"aten::reciprocal.out", unary<Op::kReciprocal>},
    {"aten::round.out", unary<Op::kRound>},
    {"aten::rsqrt.out", unary<Op::kRsqrt>},
    {"aten::sigmoid.out", unary<Op::kSigmoid>},
    {"aten::sign.out", unary<Op::kSign>},
    {"aten::sin.out", unary<Op::kSin>},
    {"aten::sinh.out", unary<Op::kSinh>},
    {"aten::sqrt.out", unary<Op::kSqrt>},
    {"aten::tan.out", unary<Op::kTan>},
    {"aten::tanh.out", unary<Op::kTanh>},
    {"aten::trunc.out", unary<Op::kTrunc>},
    {"aten::relu.out", relu},
    {"aten::clamp.out", clamp},
    {"aten::gelu.out", gelu},
    {"aten::elu.out", elu},
    {"aten::leaky_relu.out", leaky_relu},
};

}  // namespace

std::span<const HostKernel> elementwise_host_kernels() { return kElementwiseKernels; }

}  // namespace isthmus::run
