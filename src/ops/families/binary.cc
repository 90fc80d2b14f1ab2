// Arithmetic on two tensors that broadcast, and names that mean several such ops.
#include <cmath>
#include <numbers>

#include "ops/elementwise.h"
#include "ops/families.h"

namespace isthmus {
namespace {

bool is_one(const Call& call, std::string_view name) {
  const ArgValue* value = call.find(name);
  if (value == nullptr) return true;
  if (const auto* number = std::get_if<double>(&value->value)) return *number == 1;
  if (const auto* boolean = std::get_if<bool>(&value->value)) return *boolean;
  const auto* dim = std::get_if<Dim>(&value->value);
  return dim != nullptr && dim->is(1);
}

// x times a factor that is an argument of the call, 1 where it is absent.
Expected<ValueId> times(Call& call, ValueId x, std::string_view factor) {
  if (is_one(call, factor)) return x;
  return call.binary(Op::kMul, x, TRY(call.operand(factor, call.type(x).dtype)));
}

struct Pair {
  ValueId a;
  ValueId b;
};

// Both operands, the named one times alpha.
Expected<Pair> scaled_pair(Call& call, DType dtype, bool scales_self) {
  ValueId a = TRY(call.operand("self", dtype));
  if (scales_self) a = TRY(times(call, a, "alpha"));
  ValueId b = TRY(call.operand("other", dtype));
  if (!scales_self) b = TRY(times(call, b, "alpha"));
  return Pair{a, b};
}

template <Op kOp>
Expected<Values> read_sum(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "other"}));
  const Pair pair = TRY(scaled_pair(call, scalar_dtype(call, dtype, {"self", "other", "alpha"}), false));
  return one(call.cast(TRY(call.binary(kOp, pair.a, pair.b)), dtype));
}
Expected<Values> read_rsub(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "other"}));
  const Pair pair = TRY(scaled_pair(call, scalar_dtype(call, dtype, {"self", "other", "alpha"}), true));
  return one(call.cast(TRY(call.binary(Op::kSub, pair.b, pair.a)), dtype));
}

Expected<Values> read_product(Call& call, Op op, DType dtype) {
  const DType inner = scalar_dtype(call, dtype, {"self", "other"});
  const ValueId a = TRY(call.operand("self", inner));
  return one(call.cast(TRY(call.binary(op, a, TRY(call.operand("other", inner)))), dtype));
}
Expected<Values> read_mul(Call& call) {
  return read_product(call, Op::kMul, TRY(common_dtype(call, {"self", "other"})));
}
Expected<Values> read_true_div(Call& call) {
  return read_product(call, Op::kDiv, as_float(TRY(common_dtype(call, {"self", "other"}))));
}
Expected<Values> read_div(Call& call) {
  const std::string mode = TRY(call.text("rounding_mode", ""));
  if (mode.empty()) return read_true_div(call);
  if (mode == "floor") return read_promoted(call, Op::kFloorDiv);
  if (mode == "trunc") return read_promoted(call, Op::kTruncDiv);
  return bad_input("unknown rounding mode \"" + mode + "\"");
}

// Small powers are what PyTorch computes for them, so that all ways to write a square are one.
Expected<ValueId> power(Call& call, ValueId x, double exponent) {
  const DType dtype = call.type(x).dtype;
  if (exponent == 0) return filled(call, 1, dtype, call.shape(x));
  if (exponent == 1) return x;
  if (exponent == 2) return call.binary(Op::kMul, x, x);
  if (exponent == 3) return call.binary(Op::kMul, TRY(call.binary(Op::kMul, x, x)), x);
  if (is_floating(dtype)) {
    if (exponent == 0.5) return call.unary(Op::kSqrt, x);
    if (exponent == -0.5) return call.unary(Op::kRsqrt, x);
    if (exponent == -1) return call.unary(Op::kReciprocal, x);
    if (exponent == -2) return call.unary(Op::kReciprocal, TRY(call.binary(Op::kMul, x, x)));
  } else if (exponent < 0) {
    return bad_input("an integer to a negative power is not an integer");
  }
  return call.binary(Op::kPow, x, TRY(call.operand("exponent", dtype)));
}

Expected<Values> read_power(Call& call, DType dtype) {
  if (!call.tensor_if("self") || call.tensor_if("exponent")) {
    const ValueId base = TRY(call.operand("self", dtype));
    return one(call.binary(Op::kPow, base, TRY(call.operand("exponent", dtype))));
  }
  const ValueId base = TRY(call.operand("self", dtype));
  const auto exponent = call.number("exponent");
  if (exponent) return one(power(call, base, *exponent));
  return one(call.binary(Op::kPow, base, TRY(call.operand("exponent", dtype))));
}
Expected<Values> read_pow(Call& call) { return read_power(call, TRY(common_dtype(call, {"self", "exponent"}))); }
Expected<Values> read_float_power(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "exponent"}));
  if (is_complex(dtype)) return Call::unsupported("complex arithmetic is not supported");
  return read_power(call, DType::kF64);
}
Expected<Values> read_square(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const DType dtype = call.type(self).dtype;
  return one(power(call, TRY(call.cast(self, dtype == DType::kBool ? DType::kI64 : dtype)), 2));
}

Expected<Values> read_addcmul(Call& call, Op op) {
  const DType dtype = TRY(common_dtype(call, {"self", "tensor1", "tensor2"}));
  const ValueId self = TRY(call.operand("self", dtype));
  const ValueId factor = TRY(times(call, TRY(call.operand("tensor1", dtype)), "value"));
  const ValueId product = TRY(call.binary(op, factor, TRY(call.operand("tensor2", dtype))));
  return one(call.binary(Op::kAdd, self, product));
}
Expected<Values> read_addcmul(Call& call) { return read_addcmul(call, Op::kMul); }
Expected<Values> read_addcdiv(Call& call) { return read_addcmul(call, Op::kDiv); }

Expected<Values> read_lerp(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "end", "weight"}));
  const ValueId start = TRY(call.operand("self", dtype));
  const ValueId end = TRY(call.operand("end", dtype));
  const ValueId way = TRY(call.binary(Op::kSub, end, start));
  // From the nearer end, as PyTorch does it.
  const auto weight = call.number("weight");
  if (weight && std::abs(*weight) >= 0.5) {
    const ValueId back = TRY(call.binary(Op::kMul, way, call.scalar(1 - *weight, dtype)));
    return one(call.binary(Op::kSub, end, back));
  }
  const ValueId step = TRY(call.binary(Op::kMul, way, TRY(call.operand("weight", dtype))));
  return one(call.binary(Op::kAdd, start, step));
}

// In units of log 2.
Expected<Values> read_logaddexp2(Call& call) {
  const DType dtype = as_float(TRY(common_dtype(call, {"self", "other"})));
  const ValueId unit = call.scalar(std::numbers::ln2, dtype);
  const ValueId a = TRY(call.binary(Op::kMul, TRY(call.operand("self", dtype)), unit));
  const ValueId b = TRY(call.binary(Op::kMul, TRY(call.operand("other", dtype)), unit));
  return one(call.binary(Op::kDiv, TRY(call.binary(Op::kLogaddexp, a, b)), unit));
}

// a * log(b), which is 0 where a is, unless b is NaN.
Expected<Values> read_xlogy(Call& call, Op logarithm) {
  const DType dtype = as_float(TRY(common_dtype(call, {"self", "other"})));
  const ValueId a = TRY(call.operand("self", dtype));
  const ValueId b = TRY(call.operand("other", dtype));
  const ValueId zero = call.scalar(0.0, dtype);
  const ValueId product = TRY(call.binary(Op::kMul, a, TRY(call.unary(logarithm, b))));
  const ValueId is_zero = TRY(call.binary(Op::kEq, a, zero));
  const ValueId clean = TRY(call.emit(Op::kWhere, NoAttrs{}, {is_zero, zero, product}));
  return one(call.emit(Op::kWhere, NoAttrs{}, {TRY(call.unary(Op::kIsNan, b)), b, clean}));
}
Expected<Values> read_xlogy(Call& call) { return read_xlogy(call, Op::kLog); }
Expected<Values> read_xlog1py(Call& call) { return read_xlogy(call, Op::kLog1p); }

Expected<Values> read_ldexp(Call& call) {
  const DType dtype = as_float(TRY(common_dtype(call, {"self", "other"})));
  const ValueId self = TRY(call.operand("self", dtype));
  const ValueId exponent = TRY(call.operand("other", dtype));
  return one(call.binary(Op::kMul, self, TRY(call.binary(Op::kPow, call.scalar(2.0, dtype), exponent))));
}

// 0 below zero, 1 above, the second operand at zero; NaN counts as above.
Expected<Values> read_heaviside(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "values"}));
  const ValueId x = TRY(call.operand("self", dtype));
  const ValueId zero = call.scalar(0.0, dtype);
  const ValueId is_below = TRY(call.binary(Op::kLt, x, zero));
  const ValueId step = TRY(call.cast(TRY(call.unary(Op::kLogicalNot, is_below)), dtype));
  const ValueId is_zero = TRY(call.binary(Op::kEq, x, zero));
  return one(call.emit(Op::kWhere, NoAttrs{}, {is_zero, TRY(call.operand("values", dtype)), step}));
}

OpDef arithmetic(Op op, Infer infer, std::vector<Spelling> spellings, NoiseFlow noise = NoiseFlow::kOfVariance) {
  return {.op = op,
          .flow = QFlow::kComputes,
          .roles = {Role::kData, Role::kData},
          .required = 2,
          .infer = infer,
          .spellings = std::move(spellings),
          .noise = noise,
          .is_elementwise = true,
          .broadcasts = true};
}

}  // namespace

Family binary_family() {
  static const OpDef kOps[] = {
      homogeneous(arithmetic(Op::kAdd, infer_binary<Numbers::kAll>, {}, NoiseFlow::kAdds)),
      homogeneous(arithmetic(Op::kSub, infer_binary<Numbers::kNoBool>, {}, NoiseFlow::kAdds)),
      arithmetic(Op::kMul, infer_binary<Numbers::kAll>, {{"aten.mul", read_mul}, {"aten.multiply", read_mul}},
                 NoiseFlow::kMultiplies),
      arithmetic(Op::kDiv, infer_binary<Numbers::kFloats>, {{"aten.true_divide", read_true_div}}),
      arithmetic(Op::kFloorDiv, infer_binary<Numbers::kNoBool>, {{"aten.floor_divide", read_binary<Op::kFloorDiv>}}),
      arithmetic(Op::kTruncDiv, infer_binary<Numbers::kNoBool>, {}),
      arithmetic(Op::kRemainder, infer_binary<Numbers::kNoBool>, {{"aten.remainder", read_binary<Op::kRemainder>}}),
      arithmetic(Op::kFmod, infer_binary<Numbers::kNoBool>, {{"aten.fmod", read_binary<Op::kFmod>}}),
      arithmetic(Op::kPow, infer_binary<Numbers::kNoBool>, {}),
      homogeneous(
          arithmetic(Op::kMinimum, infer_binary<Numbers::kAll>,
                     {{"aten.minimum", read_binary<Op::kMinimum>}, {"aten.min.other", read_binary<Op::kMinimum>}})),
      homogeneous(
          arithmetic(Op::kMaximum, infer_binary<Numbers::kAll>,
                     {{"aten.maximum", read_binary<Op::kMaximum>}, {"aten.max.other", read_binary<Op::kMaximum>}})),
      arithmetic(Op::kFmin, infer_binary<Numbers::kAll>, {{"aten.fmin", read_binary<Op::kFmin>}}),
      arithmetic(Op::kFmax, infer_binary<Numbers::kAll>, {{"aten.fmax", read_binary<Op::kFmax>}}),
      arithmetic(Op::kAtan2, infer_binary<Numbers::kFloats>,
                 {{"aten.atan2", read_float_binary<Op::kAtan2>}, {"aten.arctan2", read_float_binary<Op::kAtan2>}}),
      arithmetic(Op::kHypot, infer_binary<Numbers::kFloats>, {{"aten.hypot", read_float_binary<Op::kHypot>}}),
      arithmetic(Op::kCopysign, infer_binary<Numbers::kFloats>, {{"aten.copysign", read_float_binary<Op::kCopysign>}}),
      arithmetic(Op::kLogaddexp, infer_binary<Numbers::kFloats>,
                 {{"aten.logaddexp", read_float_binary<Op::kLogaddexp>}}),
  };
  static const Spelling kCompounds[] = {
      {"aten.add", read_sum<Op::kAdd>},
      {"aten.sub", read_sum<Op::kSub>},
      {"aten.subtract", read_sum<Op::kSub>},
      {"aten.rsub", read_rsub},
      {"aten.div", read_div},
      {"aten.divide", read_div},
      {"aten.pow", read_pow},
      {"aten.float_power", read_float_power},
      {"aten.square", read_square},
      {"aten.addcmul", read_addcmul},
      {"aten.addcdiv", read_addcdiv},
      {"aten.lerp", read_lerp},
      {"aten.logaddexp2", read_logaddexp2},
      {"aten.xlogy", read_xlogy},
      {"aten.special_xlogy", read_xlogy},
      {"aten.special_xlog1py", read_xlog1py},
      {"aten.ldexp", read_ldexp},
      {"aten.heaviside", read_heaviside},
  };
  return {"binary", kOps, kCompounds};
}

}  // namespace isthmus
