// Comparisons and logic.
#include <limits>

#include "ops/elementwise.h"
#include "ops/families.h"

namespace isthmus {
namespace {

template <Numbers kNumbers>
Expected<TensorType> infer_bools(const InferContext& context) {
  TRY(demand(kNumbers, context.inputs[0]));
  return TensorType{DType::kBool, context.inputs[0].shape};
}

Expected<TensorType> infer_comparison(const InferContext& context) {
  return TensorType{DType::kBool, TRY(infer_broadcast(Numbers::kAll, context)).shape};
}

Expected<ValueId> boolean(Call& call, std::string_view name) { return call.operand(name, DType::kBool); }

template <Op kOp>
Expected<Values> read_logical(Call& call) {
  const ValueId a = TRY(boolean(call, "self"));
  return one(call.binary(kOp, a, TRY(boolean(call, "other"))));
}

Expected<Values> read_logical_not(Call& call) { return one(call.unary(Op::kLogicalNot, TRY(boolean(call, "self")))); }

// On bools, bits and logic are one thing.
template <Op kBitwise, Op kLogical>
Expected<Values> read_bitwise(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "other"}));
  return read_promoted(call, dtype == DType::kBool ? kLogical : kBitwise);
}

Expected<Values> read_bitwise_not(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(call.unary(call.type(self).dtype == DType::kBool ? Op::kLogicalNot : Op::kBitwiseNot, self));
}

template <Op kOp>
Expected<Values> read_shift(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "other"}));
  if (!is_integer(dtype)) return Call::unsupported("shifts need integers");
  return read_promoted(call, kOp);
}

// A question about infinity or NaN that integers always answer in the same way.
Expected<ValueId> ask_floats(Call& call, bool of_integers, Expected<ValueId> (*ask)(Call&, ValueId)) {
  const ValueId self = TRY(call.tensor("self"));
  TRY(demand(Numbers::kAll, call.type(self)));
  if (is_floating(call.type(self).dtype)) return ask(call, self);
  return filled(call, of_integers ? 1 : 0, DType::kBool, call.shape(self));
}

Expected<ValueId> is_finite(Call& call, ValueId x) {
  const DType dtype = call.type(x).dtype;
  const ValueId magnitude = TRY(call.unary(Op::kAbs, x));
  return call.binary(Op::kLt, magnitude, call.scalar(std::numeric_limits<double>::infinity(), dtype));
}
template <int kSign>
Expected<ValueId> is_infinity(Call& call, ValueId x) {
  const DType dtype = call.type(x).dtype;
  return call.binary(Op::kEq, x, call.scalar(kSign * std::numeric_limits<double>::infinity(), dtype));
}

Expected<Values> read_isnan(Call& call) {
  return one(ask_floats(call, false, [](Call& c, ValueId x) { return c.unary(Op::kIsNan, x); }));
}
Expected<Values> read_isinf(Call& call) {
  return one(ask_floats(call, false, [](Call& c, ValueId x) { return c.unary(Op::kIsInf, x); }));
}
Expected<Values> read_isfinite(Call& call) { return one(ask_floats(call, true, is_finite)); }
Expected<Values> read_isposinf(Call& call) { return one(ask_floats(call, false, is_infinity<1>)); }
Expected<Values> read_isneginf(Call& call) { return one(ask_floats(call, false, is_infinity<-1>)); }
Expected<Values> read_isreal(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  TRY(demand(Numbers::kAll, call.type(self)));
  return one(filled(call, 1, DType::kBool, call.shape(self)));
}

// -0.0 and negative NaN have the sign bit set as well.
Expected<Values> read_signbit(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const DType dtype = call.type(self).dtype;
  TRY(demand(Numbers::kAll, call.type(self)));
  if (dtype == DType::kBool) return one(filled(call, 0, DType::kBool, call.shape(self)));
  ValueId signed_one = self;
  if (is_floating(dtype)) signed_one = TRY(call.binary(Op::kCopysign, call.scalar(1.0, dtype), self));
  return one(call.binary(Op::kLt, signed_one, call.scalar(0.0, dtype)));
}

Expected<Values> read_isclose(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "other"}));
  const ValueId a = TRY(call.operand("self", dtype));
  const ValueId b = TRY(call.operand("other", dtype));
  ValueId close = TRY(call.binary(Op::kEq, a, b));
  if (TRY(call.flag("equal_nan", false)) && is_floating(dtype)) {
    const ValueId a_is_nan = TRY(call.unary(Op::kIsNan, a));
    const ValueId both = TRY(call.binary(Op::kLogicalAnd, a_is_nan, TRY(call.unary(Op::kIsNan, b))));
    close = TRY(call.binary(Op::kLogicalOr, close, both));
  }
  const double relative = TRY(call.number("rtol", 1e-5));
  const double absolute = TRY(call.number("atol", 1e-8));
  if (relative == 0 && absolute == 0) return std::vector<ValueId>{close};
  const DType real = as_float(dtype);
  const ValueId tolerance = call.scalar(relative, real);
  const ValueId scaled = TRY(call.binary(Op::kMul, TRY(call.cast(b, real)), tolerance));
  const ValueId magnitude = TRY(call.unary(Op::kAbs, scaled));
  const ValueId allowed = TRY(call.binary(Op::kAdd, magnitude, call.scalar(absolute, real)));
  const ValueId actual = TRY(call.cast(TRY(call.unary(Op::kAbs, TRY(call.binary(Op::kSub, a, b)))), real));
  const ValueId is_allowed = TRY(call.binary(Op::kLe, actual, allowed));
  const ValueId is_near = TRY(call.binary(Op::kLogicalAnd, TRY(is_finite(call, actual)), is_allowed));
  return one(call.binary(Op::kLogicalOr, close, is_near));
}

OpDef comparison(Op op, std::vector<Spelling> spellings) {
  return {.op = op,
          .flow = QFlow::kComputes,
          .roles = {Role::kData, Role::kData},
          .required = 2,
          .infer = infer_comparison,
          .spellings = std::move(spellings),
          .is_elementwise = true,
          .broadcasts = true};
}
OpDef logic(Op op, Infer infer, std::vector<Spelling> spellings) {
  return {.op = op,
          .flow = QFlow::kComputes,
          .roles = {Role::kCondition, Role::kCondition},
          .required = 2,
          .infer = infer,
          .spellings = std::move(spellings),
          .is_elementwise = true,
          .broadcasts = true};
}

}  // namespace

Family compare_family() {
  static const OpDef kOps[] = {
      comparison(Op::kEq, {{"aten.eq", read_binary<Op::kEq>}}),
      comparison(Op::kNe, {{"aten.ne", read_binary<Op::kNe>}, {"aten.not_equal", read_binary<Op::kNe>}}),
      comparison(Op::kLt, {{"aten.lt", read_binary<Op::kLt>}, {"aten.less", read_binary<Op::kLt>}}),
      comparison(Op::kLe, {{"aten.le", read_binary<Op::kLe>}, {"aten.less_equal", read_binary<Op::kLe>}}),
      comparison(Op::kGt, {{"aten.gt", read_binary<Op::kGt>}, {"aten.greater", read_binary<Op::kGt>}}),
      comparison(Op::kGe, {{"aten.ge", read_binary<Op::kGe>}, {"aten.greater_equal", read_binary<Op::kGe>}}),
      logic(Op::kLogicalAnd, infer_binary<Numbers::kBools>, {{"aten.logical_and", read_logical<Op::kLogicalAnd>}}),
      logic(Op::kLogicalOr, infer_binary<Numbers::kBools>, {{"aten.logical_or", read_logical<Op::kLogicalOr>}}),
      logic(Op::kLogicalXor, infer_binary<Numbers::kBools>, {{"aten.logical_xor", read_logical<Op::kLogicalXor>}}),
      {.op = Op::kLogicalNot,
       .flow = QFlow::kComputes,
       .roles = {Role::kCondition},
       .infer = infer_unary<Numbers::kBools>,
       .spellings = {{"aten.logical_not", read_logical_not}},
       .is_elementwise = true},
      logic(Op::kBitwiseAnd, infer_binary<Numbers::kIntegers>, {}),
      logic(Op::kBitwiseOr, infer_binary<Numbers::kIntegers>, {}),
      logic(Op::kBitwiseXor, infer_binary<Numbers::kIntegers>, {}),
      {.op = Op::kBitwiseNot,
       .flow = QFlow::kComputes,
       .roles = {Role::kCondition},
       .infer = infer_unary<Numbers::kIntegers>,
       .is_elementwise = true},
      logic(Op::kShiftLeft, infer_binary<Numbers::kIntegers>,
            {{"aten.__lshift__", read_shift<Op::kShiftLeft>}, {"aten.bitwise_left_shift", read_shift<Op::kShiftLeft>}}),
      logic(Op::kShiftRight, infer_binary<Numbers::kIntegers>,
            {{"aten.__rshift__", read_shift<Op::kShiftRight>},
             {"aten.bitwise_right_shift", read_shift<Op::kShiftRight>}}),
      {.op = Op::kIsNan,
       .flow = QFlow::kComputes,
       .roles = {Role::kData},
       .infer = infer_bools<Numbers::kFloats>,
       .spellings = {{"aten.isnan", read_isnan}},
       .is_elementwise = true},
      {.op = Op::kIsInf,
       .flow = QFlow::kComputes,
       .roles = {Role::kData},
       .infer = infer_bools<Numbers::kFloats>,
       .spellings = {{"aten.isinf", read_isinf}},
       .is_elementwise = true},
  };
  static const Spelling kCompounds[] = {
      {"aten.__and__", read_bitwise<Op::kBitwiseAnd, Op::kLogicalAnd>},
      {"aten.__or__", read_bitwise<Op::kBitwiseOr, Op::kLogicalOr>},
      {"aten.__xor__", read_bitwise<Op::kBitwiseXor, Op::kLogicalXor>},
      {"aten.bitwise_and", read_bitwise<Op::kBitwiseAnd, Op::kLogicalAnd>},
      {"aten.bitwise_or", read_bitwise<Op::kBitwiseOr, Op::kLogicalOr>},
      {"aten.bitwise_xor", read_bitwise<Op::kBitwiseXor, Op::kLogicalXor>},
      {"aten.bitwise_not", read_bitwise_not},
      {"aten.isfinite", read_isfinite},
      {"aten.isposinf", read_isposinf},
      {"aten.isneginf", read_isneginf},
      {"aten.isreal", read_isreal},
      {"aten.signbit", read_signbit},
      {"aten.isclose", read_isclose},
  };
  return {"compare", kOps, kCompounds};
}

}  // namespace isthmus
