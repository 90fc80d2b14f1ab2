// Kernels on each element: arithmetic, comparisons, logic, functions.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "targets/host/family.h"

namespace isthmus::host {
namespace {

// a + alpha * b
Expected<void> write_sum(NodeWriter& node) {
  return node.finish({TRY(node.input(0)), TRY(node.input(1)), node.integer(1)});
}

Expected<void> write_exp2(NodeWriter& node) {
  return node.finish({node.number(2, node.type(0).dtype), TRY(node.input(0))});
}

// The kernel leaves a negative zero negative.
Expected<void> write_abs(NodeWriter& node) {
  const TensorType& type = node.result_type();
  if (!is_floating(type.dtype)) return write_inputs(node);
  const pte::ValueIndex size = TRY(node.row_step({TRY(node.input(0))}, type));
  return node.finish(names::kAddNumber, {size, node.real(0), node.integer(1)});
}

// The kernel's sign of NaN is NaN, PyTorch's is 0.
Expected<void> write_sign(NodeWriter& node) {
  const TensorType& type = node.result_type();
  if (!is_floating(type.dtype)) return write_inputs(node);
  const pte::ValueIndex x = TRY(node.input(0));
  const pte::ValueIndex sign = TRY(node.row_step({x}, type));
  const pte::ValueIndex is_nan = TRY(node.step(names::kIsNan, {x}, {DType::kBool, type.shape}));
  return node.finish(names::kMaskedFill, {sign, is_nan, node.real(0)});
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
  // The largest number of 64 bits is not a double; the one before it is.
  return {-above, dtype == DType::kI64 ? std::nextafter(above, 0.0) : above - 1};
}

Expected<void> write_clamp(NodeWriter& node) {
  const auto& [min, max] = node.as<ClampAttrs>();
  const DType dtype = node.type(0).dtype;
  const auto [lowest, highest] = numbers_of(dtype);
  if (std::isnan(min) || std::isnan(max) || min > highest || max < lowest) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("ExecuTorch's kernel clamps with bounds of type {}, which cannot represent {} and {}",
                            name_of(dtype), min, max));
  }
  const bool has_min = min >= lowest;
  const bool has_max = max <= highest;
  const pte::ValueIndex x = TRY(node.input(0));
  if (!has_min && !has_max) {
    return node.finish(names::kConvert, node.cast_arguments(x, node.type(0).rank()));
  }
  return node.finish(
      {x, has_min ? node.number(min, dtype) : node.none(), has_max ? node.number(max, dtype) : node.none()});
}

Expected<void> write_gelu(NodeWriter& node) {
  if (node.as<GeluAttrs>().tanh && node.type(0).dtype == DType::kF64) {
    return fail(ErrorKind::kUnsupported, "ExecuTorch's kernel computes tanh gelu with a float factor; use f32");
  }
  return node.finish({TRY(node.input(0)), node.text(node.as<GeluAttrs>().tanh ? "tanh" : "none")});
}
Expected<void> write_elu(NodeWriter& node) {
  const EluAttrs& attrs = node.as<EluAttrs>();
  return node.finish(
      {TRY(node.input(0)), node.real(attrs.alpha), node.real(attrs.scale), node.real(attrs.input_scale)});
}
Expected<void> write_leaky_relu(NodeWriter& node) {
  return node.finish({TRY(node.input(0)), node.real(node.as<SlopeAttrs>().slope)});
}

// What is replaced is found in the input: a replacement may be infinite itself.
Expected<void> write_nan_to_num(NodeWriter& node) {
  const NanToNumAttrs& attrs = node.as<NanToNumAttrs>();
  const TensorType& type = node.type(0);
  const TensorType bools{DType::kBool, type.shape};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const pte::ValueIndex x = TRY(node.input(0));
  const pte::ValueIndex is_nan = TRY(node.step(names::kIsNan, {x}, bools));
  const pte::ValueIndex is_most = TRY(node.step(names::kEqNumber, {x, node.real(kInfinity)}, bools));
  const pte::ValueIndex is_least = TRY(node.step(names::kEqNumber, {x, node.real(-kInfinity)}, bools));
  const std::string_view fill = names::kMaskedFill;
  const pte::ValueIndex numbers = TRY(node.step(fill, {x, is_nan, node.real(attrs.nan)}, type));
  const pte::ValueIndex below = TRY(node.step(fill, {numbers, is_most, node.real(attrs.posinf)}, type));
  return node.finish(fill, {below, is_least, node.real(attrs.neginf)});
}

// A zero has the sign of what it is the reciprocal of.
Expected<void> write_copysign(NodeWriter& node) {
  const TensorType& type = node.type(0);
  const TensorType& sign = node.type(1);
  const TensorType bools{DType::kBool, sign.shape};
  const pte::ValueIndex b = TRY(node.input(1));
  const pte::ValueIndex is_below = TRY(node.step(names::kLtNumber, {b, node.real(0)}, bools));
  const pte::ValueIndex inverse = TRY(node.step(names::kReciprocal, {b}, sign));
  const pte::ValueIndex is_inverse_below = TRY(node.step(names::kLtNumber, {inverse, node.real(0)}, bools));
  const pte::ValueIndex is_negative = TRY(node.step(names::kLogicalOr, {is_below, is_inverse_below}, bools));
  const pte::ValueIndex any_zero = TRY(node.step(names::kAbs, {TRY(node.input(0))}, type));
  const pte::ValueIndex size = TRY(node.step(names::kAddNumber, {any_zero, node.real(0), node.integer(1)}, type));
  const pte::ValueIndex opposite = TRY(node.step(names::kNeg, {size}, type));
  return node.finish(names::kWhere, {is_negative, opposite, size});
}

template <Op op>
Expected<void> run_unary(RunningCall& call) {
  return call.store(1, op, NoAttrs{}, TRY(call.tensor(0)));
}
Expected<void> run_relu(RunningCall& call) {
  return call.store(1, Op::kClamp, ClampAttrs{.min = 0}, TRY(call.tensor(0)));
}
// A number as an element of the tensor beside it.
Expected<Tensor> number_beside(const RunningCall& call, std::size_t i, const Tensor& tensor) {
  const double number = TRY(call.number(i));
  if (is_integer(tensor.dtype()) && std::floor(number) != number) {
    return fail(ErrorKind::kUnsupported, "a fractional scalar with an integer tensor");
  }
  return call.compute(Op::kCast, DTypeAttrs{tensor.dtype()}, scalar(number));
}
// add and sub: the second operand is multiplied by a number.
template <Op op>
Expected<void> run_scaled_binary(RunningCall& call) {
  const Tensor left = TRY(call.tensor(0));
  Tensor right = TRY(call.tensor(1));
  if (TRY(call.number(2)) != 1) {
    right = TRY(call.compute(Op::kMul, NoAttrs{}, right, TRY(number_beside(call, 2, right))));
  }
  return call.store(3, op, NoAttrs{}, left, right);
}
Expected<void> run_power_of_number(RunningCall& call) {
  const Tensor exponent = TRY(call.tensor(1));
  const Tensor base = TRY(number_beside(call, 0, exponent));
  return call.store(2, Op::kPow, NoAttrs{}, base, exponent);
}
// Numbers are true where they are not 0.
Expected<Tensor> bools(const RunningCall& call, std::size_t i) {
  return call.compute(Op::kCast, DTypeAttrs{DType::kBool}, TRY(call.tensor(i)));
}
template <Op op>
Expected<void> run_logical(RunningCall& call) {
  return call.store(2, op, NoAttrs{}, TRY(bools(call, 0)), TRY(bools(call, 1)));
}
Expected<void> run_logical_not(RunningCall& call) {
  return call.store(1, Op::kLogicalNot, NoAttrs{}, TRY(bools(call, 0)));
}
Expected<void> run_masked_fill(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const Tensor filler = TRY(number_beside(call, 2, input));
  return call.store(3, Op::kWhere, NoAttrs{}, TRY(call.tensor(1)), filler, input);
}
Expected<void> run_where(RunningCall& call) {
  const Tensor condition = TRY(call.tensor(0));
  return call.store(3, Op::kWhere, NoAttrs{}, condition, TRY(call.tensor(1)), TRY(call.tensor(2)));
}
Expected<void> run_clamp(RunningCall& call) {
  ClampAttrs attrs;
  if (!call.is_none(1)) attrs.min = TRY(call.number(1));
  if (!call.is_none(2)) attrs.max = TRY(call.number(2));
  return call.store(3, Op::kClamp, attrs, TRY(call.tensor(0)));
}
Expected<void> run_hardtanh(RunningCall& call) {
  const ClampAttrs attrs{TRY(call.number(1)), TRY(call.number(2))};
  return call.store(3, Op::kClamp, attrs, TRY(call.tensor(0)));
}
// Bounds of their own for each element; one of them may be missing.
Expected<void> run_clamp_by_tensors(RunningCall& call) {
  Tensor result = TRY(call.tensor(0));
  if (!call.is_none(1)) result = TRY(call.compute(Op::kMaximum, NoAttrs{}, result, TRY(call.tensor(1))));
  if (!call.is_none(2)) result = TRY(call.compute(Op::kMinimum, NoAttrs{}, result, TRY(call.tensor(2))));
  return call.set_tensor(3, result);
}
// log(x / (1 - x)) of x between eps and 1 - eps.
Expected<void> run_logit(RunningCall& call) {
  Tensor input = TRY(call.tensor(0));
  if (!is_floating(input.dtype())) input = TRY(call.compute(Op::kCast, DTypeAttrs{DType::kF32}, input));
  if (!call.is_none(1)) {
    const double eps = TRY(call.number(1));
    input = TRY(call.compute(Op::kClamp, ClampAttrs{eps, 1 - eps}, input));
  }
  const Tensor one = TRY(call.compute(Op::kCast, DTypeAttrs{input.dtype()}, scalar(1.0)));
  const Tensor rest = TRY(call.compute(Op::kSub, NoAttrs{}, one, input));
  return call.store(2, Op::kLog, NoAttrs{}, TRY(call.compute(Op::kDiv, NoAttrs{}, input, rest)));
}
Expected<void> run_gelu(RunningCall& call) {
  const std::string how = TRY(call.text(1));
  if (how != "tanh" && how != "none") return bad_input("an approximation of gelu that is neither tanh nor none");
  return call.store(2, Op::kGelu, GeluAttrs{how == "tanh"}, TRY(call.tensor(0)));
}
Expected<void> run_elu(RunningCall& call) {
  const EluAttrs attrs{TRY(call.number(1)), TRY(call.number(2)), TRY(call.number(3))};
  return call.store(4, Op::kElu, attrs, TRY(call.tensor(0)));
}
Expected<void> run_leaky_relu(RunningCall& call) {
  return call.store(2, Op::kLeakyRelu, SlopeAttrs{TRY(call.number(1))}, TRY(call.tensor(0)));
}

// A kernel of one tensor that is one op.
template <Op op>
constexpr Kernel unary(std::string_view name, ElementTypes types = ElementTypes::kNumbers) {
  return {name, "t", run_unary<op>, {op, write_inputs, types}};
}

constexpr Kernel kElementwiseKernels[] = {
    {.name = names::kAdd, .arguments = "ttn", .run = run_scaled_binary<Op::kAdd>, .written = {Op::kAdd, write_sum}},
    {.name = names::kSub,
     .arguments = "ttn",
     .run = run_scaled_binary<Op::kSub>,
     .written = {Op::kSub, write_sum, ElementTypes::kNoBool}},
    binary<Op::kAtan2>("aten::atan2.out"),
    binary<Op::kBitwiseAnd>("aten::bitwise_and.Tensor_out"),
    binary<Op::kBitwiseOr>("aten::bitwise_or.Tensor_out"),
    binary<Op::kBitwiseXor>("aten::bitwise_xor.Tensor_out"),
    binary<Op::kDiv>(names::kDiv),
    binary<Op::kEq>("aten::eq.Tensor_out"),
    binary<Op::kGe>("aten::ge.Tensor_out"),
    binary<Op::kGt>("aten::gt.Tensor_out"),
    binary<Op::kLe>("aten::le.Tensor_out"),
    {.name = names::kLogicalAnd,
     .arguments = "tt",
     .run = run_logical<Op::kLogicalAnd>,
     .written = {Op::kLogicalAnd, write_inputs}},
    {.name = names::kLogicalOr,
     .arguments = "tt",
     .run = run_logical<Op::kLogicalOr>,
     .written = {Op::kLogicalOr, write_inputs}},
    {.name = names::kLogicalXor,
     .arguments = "tt",
     .run = run_logical<Op::kLogicalXor>,
     .written = {Op::kLogicalXor, write_inputs}},
    binary<Op::kLt>("aten::lt.Tensor_out"),
    binary<Op::kMaximum>("aten::maximum.out"),
    binary<Op::kMinimum>("aten::minimum.out"),
    binary<Op::kMul>(names::kMul),
    binary<Op::kNe>(names::kNe),
    {.name = "aten::pow.Scalar_out", .arguments = "nt", .run = run_power_of_number, .written = {Op::kExp2, write_exp2}},
    {.name = names::kWhere, .arguments = "ttt", .run = run_where, .written = {Op::kWhere, write_inputs}},
    {.name = names::kMaskedFill, .arguments = "ttn", .run = run_masked_fill},
    {.name = names::kAbs,
     .arguments = "t",
     .run = run_unary<Op::kAbs>,
     .written = {Op::kAbs, write_abs, ElementTypes::kNoBool}},
    unary<Op::kAcos>("aten::acos.out"),
    unary<Op::kAcosh>("aten::acosh.out"),
    unary<Op::kAsin>("aten::asin.out"),
    unary<Op::kAsinh>("aten::asinh.out"),
    unary<Op::kAtan>("aten::atan.out"),
    unary<Op::kAtanh>("aten::atanh.out"),
    unary<Op::kBitwiseNot>("aten::bitwise_not.out"),
    unary<Op::kCeil>("aten::ceil.out", ElementTypes::kNoBool),
    unary<Op::kCos>("aten::cos.out"),
    unary<Op::kCosh>("aten::cosh.out"),
    unary<Op::kErf>("aten::erf.out"),
    unary<Op::kExp>("aten::exp.out"),
    unary<Op::kExpm1>("aten::expm1.out"),
    unary<Op::kFloor>(names::kFloor, ElementTypes::kNoBool),
    unary<Op::kIsInf>("aten::isinf.out"),
    unary<Op::kIsNan>(names::kIsNan),
    unary<Op::kLog>("aten::log.out"),
    unary<Op::kLog10>("aten::log10.out"),
    unary<Op::kLog1p>("aten::log1p.out"),
    unary<Op::kLog2>("aten::log2.out"),
    {.name = names::kLogicalNot, .arguments = "t", .run = run_logical_not, .written = {Op::kLogicalNot, write_inputs}},
    unary<Op::kNeg>(names::kNeg, ElementTypes::kNoBool),
    unary<Op::kReciprocal>(names::kReciprocal),
    unary<Op::kRound>("aten::round.out", ElementTypes::kNoBool),
    unary<Op::kRsqrt>(names::kRsqrt),
    unary<Op::kSigmoid>("aten::sigmoid.out"),
    {.name = "aten::sign.out", .arguments = "t", .run = run_unary<Op::kSign>, .written = {Op::kSign, write_sign}},
    unary<Op::kSin>("aten::sin.out"),
    unary<Op::kSinh>("aten::sinh.out"),
    unary<Op::kSqrt>("aten::sqrt.out"),
    unary<Op::kTan>("aten::tan.out"),
    unary<Op::kTanh>("aten::tanh.out"),
    unary<Op::kTrunc>("aten::trunc.out", ElementTypes::kNoBool),
    {.name = "aten::relu.out", .arguments = "t", .run = run_relu},
    {.name = names::kClamp,
     .arguments = "tmm",
     .run = run_clamp,
     .written = {Op::kClamp, write_clamp, ElementTypes::kNoBool}},
    {.name = "aten::hardtanh.out", .arguments = "tnn", .run = run_hardtanh},
    {.name = "aten::clamp.Tensor_out", .arguments = "too", .run = run_clamp_by_tensors},
    {.name = "aten::logit.out", .arguments = "tm", .run = run_logit},
    {.name = "aten::gelu.out",
     .arguments = "ts",
     .run = run_gelu,
     .written = {.op = Op::kGelu, .write = write_gelu, .widens = true}},
    {.name = "aten::elu.out", .arguments = "tnnn", .run = run_elu, .written = {Op::kElu, write_elu}},
    {.name = "aten::leaky_relu.out",
     .arguments = "tn",
     .run = run_leaky_relu,
     .written = {.op = Op::kLeakyRelu, .write = write_leaky_relu, .widens = true}},
};
constexpr WrittenOp kElementwiseComposites[] = {
    {Op::kCopysign, write_copysign},
    {Op::kNanToNum, write_nan_to_num},
};

}  // namespace

Family elementwise_family() { return {kElementwiseKernels, kElementwiseComposites}; }

}  // namespace isthmus::host
