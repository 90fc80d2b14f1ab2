// Element-wise operators of ONNX.
#include "ops/elementwise.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/onnx/families.h"
#include "ops/onnx/reading.h"

namespace isthmus::onnx_ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expected<ValueId> x_of(Call& call) { return call.tensor("X"); }

template <Op kOp>
Expected<Values> read_x(Call& call) {
  return one(call.unary(kOp, TRY(x_of(call))));
}

// Rounding leaves integers as they are.
template <Op kOp>
Expected<Values> read_rounding(Call& call) {
  const ValueId x = TRY(x_of(call));
  return is_floating(call.type(x).dtype) ? one(call.unary(kOp, x)) : one(x);
}

Expected<Values> read_identity(Call& call) { return one(x_of(call)); }

struct Operands {
  ValueId a;
  ValueId b;
};
// Before opset 7 the second operand was laid along the axes of the first from a given one on.
Expected<Operands> operands(Call& call) {
  const ValueId a = TRY(call.tensor("A"));
  ValueId b = TRY(call.tensor("B"));
  if (!call.has("axis") || !TRY(call.flag("broadcast", false))) return Operands{a, b};
  const std::int64_t axis = TRY(call.axis("axis", call.rank(a)));
  const std::int64_t trailing = call.rank(a) - axis - call.rank(b);
  if (trailing > 0) b = TRY(with_rank(call, b, 0, trailing));
  return Operands{a, b};
}

template <Op kOp>
Expected<Values> read_ab(Call& call) {
  const auto [a, b] = TRY(operands(call));
  return one(call.binary(kOp, a, b));
}

// Integers are divided as C does it.
Expected<Values> read_div(Call& call) {
  const auto [a, b] = TRY(operands(call));
  return one(call.binary(is_floating(call.type(a).dtype) ? Op::kDiv : Op::kTruncDiv, a, b));
}

// The result has the type of the base; an exponent of another type is computed with in the wider of both.
Expected<Values> read_pow(Call& call) {
  const auto [a, b] = TRY(operands(call));
  const DType dtype = call.type(a).dtype;
  const DType inside = promoted(dtype, false, call.type(b).dtype, false);
  const ValueId base = TRY(call.cast(a, inside));
  const ValueId result = TRY(TorchCall(call, "aten.pow.Tensor_Tensor")
                                 .tensor("self", base)
                                 .tensor("exponent", TRY(call.cast(b, inside)))
                                 .read_one());
  return one(call.cast(result, dtype));
}

// The sign of the divisor, or with fmod that of the dividend.
Expected<Values> read_mod(Call& call) {
  const auto [a, b] = TRY(operands(call));
  return one(call.binary(TRY(call.flag("fmod", false)) ? Op::kFmod : Op::kRemainder, a, b));
}

template <Op kOp>
Expected<Values> read_all_of(Call& call) {
  const Values inputs = TRY(call.tensors("inputs"));
  if (inputs.empty()) return bad_input(call.target() + ": no inputs");
  ValueId result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) result = TRY(call.binary(kOp, result, inputs[i]));
  return one(result);
}

Expected<Values> read_mean(Call& call) {
  const std::size_t count = TRY(call.tensors("inputs")).size();
  const ValueId sum = TRY(read_all_of<Op::kAdd>(call)).front();
  return one(call.binary(Op::kDiv, sum, TRY(scalar_like(call, static_cast<double>(count), sum))));
}

Expected<Values> read_where(Call& call) {
  const ValueId condition = TRY(call.tensor("condition"));
  const ValueId x = TRY(call.tensor("X"));
  return one(call.emit(Op::kWhere, NoAttrs{}, {condition, x, TRY(call.tensor("Y"))}));
}

Expected<Values> read_bit_shift(Call& call) {
  const auto [a, b] = TRY(operands(call));
  return one(call.binary(TRY(call.text("direction")) == "LEFT" ? Op::kShiftLeft : Op::kShiftRight, a, b));
}

Expected<Values> read_is_inf(Call& call) {
  const ValueId x = TRY(x_of(call));
  const bool positive = TRY(call.flag("detect_positive", true));
  const bool negative = TRY(call.flag("detect_negative", true));
  if (positive && negative) return one(call.unary(Op::kIsInf, x));
  const double which = positive ? kInfinity : negative ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  return one(call.binary(Op::kEq, x, TRY(scalar_like(call, which, x))));
}

Expected<ValueId> clamp(Call& call, ValueId x, double min, double max) {
  return call.emit(Op::kClamp, ClampAttrs{min, max}, {x});
}

Expected<Values> read_relu(Call& call) { return one(clamp(call, TRY(x_of(call)), 0, kInfinity)); }

// Bounds that are known become attributes.
Expected<Values> read_clip(Call& call) {
  ValueId x = TRY(x_of(call));
  const auto min = number(call, "min", -kInfinity);
  const auto max = number(call, "max", kInfinity);
  const bool is_small = !is_integer(call.type(x).dtype) || size_of(call.type(x).dtype) <= 4;
  if (min && max && is_small) {
    // As NumPy has it, the upper bound wins.
    return one(clamp(call, x, std::min(*min, *max), *max));
  }
  if (call.has("min")) x = TRY(call.binary(Op::kMaximum, x, TRY(call.tensor("min"))));
  if (call.has("max")) x = TRY(call.binary(Op::kMinimum, x, TRY(call.tensor("max"))));
  return one(x);
}

Expected<Values> read_leaky_relu(Call& call) {
  return one(call.emit(Op::kLeakyRelu, SlopeAttrs{TRY(call.number("alpha", 0.01))}, {TRY(x_of(call))}));
}
Expected<Values> read_elu(Call& call) {
  return one(call.emit(Op::kElu, EluAttrs{TRY(call.number("alpha", 1)), 1, 1}, {TRY(x_of(call))}));
}
Expected<Values> read_celu(Call& call) {
  const double alpha = TRY(call.number("alpha", 1));
  if (alpha == 0) return bad_input(call.target() + ": alpha is 0");
  return one(call.emit(Op::kElu, EluAttrs{alpha, 1, 1 / alpha}, {TRY(x_of(call))}));
}
Expected<Values> read_selu(Call& call) {
  const EluAttrs attrs{TRY(call.number("alpha", 1.67326319217681884765625)),
                       TRY(call.number("gamma", 1.05070102214813232421875)), 1};
  return one(call.emit(Op::kElu, attrs, {TRY(x_of(call))}));
}
Expected<Values> read_gelu(Call& call) {
  const bool is_tanh = TRY(call.text("approximate", "none")) == "tanh";
  return one(call.emit(Op::kGelu, GeluAttrs{is_tanh}, {TRY(x_of(call))}));
}

// x * factor + offset between 0 and 1; PyTorch's own is 1/6 and 1/2.
Expected<Values> read_hard_sigmoid(Call& call) {
  const ValueId x = TRY(x_of(call));
  const double alpha = TRY(call.number("alpha", 0.2));
  const double beta = TRY(call.number("beta", 0.5));
  if (std::abs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5) return one(call.unary(Op::kHardsigmoid, x));
  const ValueId scaled = TRY(call.binary(Op::kMul, x, TRY(scalar_like(call, alpha, x))));
  return one(clamp(call, TRY(call.binary(Op::kAdd, scaled, TRY(scalar_like(call, beta, x)))), 0, 1));
}

Expected<Values> read_softplus(Call& call) {
  // No threshold: ln(1 + e^x) wherever it is finite.
  return one(call.emit(Op::kSoftplus, SoftplusAttrs{1, 80}, {TRY(x_of(call))}));
}
Expected<Values> read_softsign(Call& call) {
  const ValueId x = TRY(x_of(call));
  const ValueId below = TRY(call.binary(Op::kAdd, TRY(call.unary(Op::kAbs, x)), TRY(scalar_like(call, 1, x))));
  return one(call.binary(Op::kDiv, x, below));
}
Expected<Values> read_thresholded_relu(Call& call) {
  const ValueId x = TRY(x_of(call));
  const ValueId is_above = TRY(call.binary(Op::kGt, x, TRY(scalar_like(call, TRY(call.number("alpha", 1)), x))));
  return one(call.emit(Op::kWhere, NoAttrs{}, {is_above, x, TRY(scalar_like(call, 0, x))}));
}

// x * sigmoid(alpha * x)
Expected<Values> read_swish(Call& call) {
  const ValueId x = TRY(x_of(call));
  const double alpha = TRY(call.number("alpha", 1));
  if (alpha == 1) return one(call.unary(Op::kSilu, x));
  const ValueId scaled = TRY(call.binary(Op::kMul, x, TRY(scalar_like(call, alpha, x))));
  return one(call.binary(Op::kMul, x, TRY(call.unary(Op::kSigmoid, scaled))));
}

// Below -lambd: x + bias; above lambd: x - bias; 0 between.
Expected<Values> read_shrink(Call& call) {
  const ValueId x = TRY(x_of(call));
  const double lambda = TRY(call.number("lambd", 0.5));
  const double bias = TRY(call.number("bias", 0));
  const DType dtype = call.type(x).dtype;
  if (is_floating(dtype) && bias == 0) return one(call.emit(Op::kHardshrink, LambdaAttrs{lambda}, {x}));
  if (is_floating(dtype) && bias == lambda) return one(call.emit(Op::kSoftshrink, LambdaAttrs{lambda}, {x}));
  const ValueId wide = TRY(call.cast(x, as_float(dtype)));
  const auto number_of = [&](double value) { return call.scalar(value, call.type(wide).dtype); };
  const ValueId above = TRY(call.binary(Op::kSub, wide, number_of(bias)));
  const ValueId below = TRY(call.binary(Op::kAdd, wide, number_of(bias)));
  const ValueId is_above = TRY(call.binary(Op::kGt, wide, number_of(lambda)));
  const ValueId is_below = TRY(call.binary(Op::kLt, wide, number_of(-lambda)));
  const ValueId rest = TRY(call.emit(Op::kWhere, NoAttrs{}, {is_below, below, number_of(0)}));
  return one(call.cast(TRY(call.emit(Op::kWhere, NoAttrs{}, {is_above, above, rest})), dtype));
}

// One slope for each channel, which is axis 1.
Expected<Values> prelu_of_channels(Call& call, ValueId x, ValueId slope) {
  const Dim count = call.exprs().product(call.shape(slope));
  Shape shape;
  if (!count.is(1)) {
    shape.resize(call.rank(x) >= 2 ? static_cast<std::size_t>(call.rank(x)) - 1 : 1, Dim(1));
    shape[0] = count;
  }
  return one(call.emit(Op::kPrelu, NoAttrs{}, {x, TRY(call.reshape(slope, std::move(shape)))}));
}

// Before opset 7.
Expected<Values> read_prelu_of_channels(Call& call) {
  return prelu_of_channels(call, TRY(x_of(call)), TRY(call.tensor("slope")));
}

// Slopes broadcast. Some exporters write one for each channel as opset 6 has it.
Expected<Values> read_prelu(Call& call) {
  const ValueId x = TRY(x_of(call));
  const ValueId slope = TRY(call.tensor("slope"));
  if (!is_floating(call.type(x).dtype)) {
    const ValueId zero = TRY(scalar_like(call, 0, x));
    const ValueId scaled = TRY(call.binary(Op::kMul, x, slope));
    return one(call.emit(Op::kWhere, NoAttrs{}, {TRY(call.binary(Op::kLt, x, zero)), scaled, x}));
  }
  const Dim count = call.exprs().product(call.shape(slope));
  const std::int64_t channel = call.rank(slope) - (call.rank(x) - 1);
  const bool is_axis_1 = channel >= 0 && channel < call.rank(slope) && call.size(slope, channel) == count;
  const bool is_as_before = call.rank(slope) == 1 && call.shape(x).back() != count;
  const bool is_by_channel =
      count.is(1) || (call.rank(x) >= 2 && call.size(x, 1) == count && (is_axis_1 || is_as_before));
  if (is_by_channel) return prelu_of_channels(call, x, slope);
  return one(call.emit(Op::kPrelu, NoAttrs{}, {x, slope}));
}

Expected<Values> read_cast(Call& call) { return one(call.cast(TRY(call.tensor("input")), TRY(dtype(call, "to")))); }
Expected<Values> read_cast_like(Call& call) {
  return one(call.cast(TRY(call.tensor("input")), call.type(TRY(call.tensor("target_type"))).dtype));
}

// The mask of what was kept is all true.
Expected<Values> read_dropout(Call& call) {
  const ValueId data = TRY(call.tensor("data"));
  if (call.tensor_if("training_mode")) {
    const auto is_training = integer(call, "training_mode");
    const auto ratio = number(call, "ratio", 0.5);
    if (!is_training || (*is_training != 0 && !(ratio && *ratio == 0))) {
      return Call::unsupported("dropout in training mode is random: export the model in eval mode");
    }
  }
  if (call.result_count() < 2) return one(data);
  return Values{data, TRY(filled(call, 1, DType::kBool, call.shape(data)))};
}

}  // namespace

Family elementwise_family() {
  static constexpr Row kRows[] = {
      row("onnx.Abs", "X", read_x<Op::kAbs>),
      row("onnx.Acos", "X", read_x<Op::kAcos>),
      row("onnx.Acosh", "X", read_x<Op::kAcosh>),
      row("onnx.Asin", "X", read_x<Op::kAsin>),
      row("onnx.Asinh", "X", read_x<Op::kAsinh>),
      row("onnx.Atan", "X", read_x<Op::kAtan>),
      row("onnx.Atanh", "X", read_x<Op::kAtanh>),
      row("onnx.Ceil", "X", read_rounding<Op::kCeil>),
      row("onnx.Cos", "X", read_x<Op::kCos>),
      row("onnx.Cosh", "X", read_x<Op::kCosh>),
      row("onnx.Erf", "X", read_x<Op::kErf>),
      row("onnx.Exp", "X", read_x<Op::kExp>),
      row("onnx.Floor", "X", read_rounding<Op::kFloor>),
      row("onnx.Log", "X", read_x<Op::kLog>),
      row("onnx.Neg", "X", read_x<Op::kNeg>),
      row("onnx.Reciprocal", "X", read_x<Op::kReciprocal>),
      row("onnx.Round", "X", read_rounding<Op::kRound>),
      row("onnx.Sign", "X", read_x<Op::kSign>),
      row("onnx.Sin", "X", read_x<Op::kSin>),
      row("onnx.Sinh", "X", read_x<Op::kSinh>),
      row("onnx.Sqrt", "X", read_x<Op::kSqrt>),
      row("onnx.Tan", "X", read_x<Op::kTan>),
      row("onnx.Sigmoid", "X", read_x<Op::kSigmoid>),
      row("onnx.Tanh", "X", read_x<Op::kTanh>),
      row("onnx.Mish", "X", read_x<Op::kMish>),
      row("onnx.HardSwish", "X", read_x<Op::kHardswish>),
      row("onnx.Relu", "X", read_relu),
      row("onnx.Clip", "X min max", read_clip),
      row("onnx.LeakyRelu", "X", read_leaky_relu),
      row("onnx.Elu", "X", read_elu),
      row("onnx.Celu", "X", read_celu),
      row("onnx.Selu", "X", read_selu),
      row("onnx.Gelu", "X", read_gelu),
      row("onnx.HardSigmoid", "X", read_hard_sigmoid),
      row("onnx.Softplus", "X", read_softplus),
      row("onnx.Softsign", "X", read_softsign),
      row("onnx.Swish", "X", read_swish),
      row("onnx.ThresholdedRelu", "X", read_thresholded_relu),
      row("onnx.Shrink", "X", read_shrink),
      row("onnx.PRelu.1", "X slope", read_prelu_of_channels),
      row("onnx.PRelu.7", "X slope", read_prelu),
      row("onnx.Identity", "X", read_identity),
      row("onnx.Dropout", "data ratio training_mode", read_dropout),
      row("onnx.Cast", "input", read_cast),
      row("onnx.CastLike", "input target_type", read_cast_like),
      row("onnx.IsNaN", "X", read_x<Op::kIsNan>),
      row("onnx.IsInf", "X", read_is_inf),
      row("onnx.Not", "X", read_x<Op::kLogicalNot>),
      row("onnx.BitwiseNot", "X", read_x<Op::kBitwiseNot>),
      row("onnx.Add", "A B", read_ab<Op::kAdd>),
      row("onnx.Sub", "A B", read_ab<Op::kSub>),
      row("onnx.Mul", "A B", read_ab<Op::kMul>),
      row("onnx.Div", "A B", read_div),
      row("onnx.Pow", "A B", read_pow),
      row("onnx.Mod", "A B", read_mod),
      row("onnx.And", "A B", read_ab<Op::kLogicalAnd>),
      row("onnx.Or", "A B", read_ab<Op::kLogicalOr>),
      row("onnx.Xor", "A B", read_ab<Op::kLogicalXor>),
      row("onnx.Equal", "A B", read_ab<Op::kEq>),
      row("onnx.Greater", "A B", read_ab<Op::kGt>),
      row("onnx.GreaterOrEqual", "A B", read_ab<Op::kGe>),
      row("onnx.Less", "A B", read_ab<Op::kLt>),
      row("onnx.LessOrEqual", "A B", read_ab<Op::kLe>),
      row("onnx.BitShift", "A B", read_bit_shift),
      row("onnx.BitwiseAnd", "A B", read_ab<Op::kBitwiseAnd>),
      row("onnx.BitwiseOr", "A B", read_ab<Op::kBitwiseOr>),
      row("onnx.BitwiseXor", "A B", read_ab<Op::kBitwiseXor>),
      row("onnx.Max", "inputs...", read_all_of<Op::kMaximum>),
      row("onnx.Min", "inputs...", read_all_of<Op::kMinimum>),
      row("onnx.Sum", "inputs...", read_all_of<Op::kAdd>),
      row("onnx.Mean", "inputs...", read_mean),
      row("onnx.Where", "condition X Y", read_where),
      row("onnx.com.microsoft.Gelu", "X", read_gelu),
  };
  return family_of("onnx elementwise", kRows);
}

}  // namespace isthmus::onnx_ops
