// Functions of one number, and clamp, to which all rectifiers come down.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/portable_math.h"
#include "ops/elementwise.h"
#include "ops/families.h"

namespace isthmus {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Functions that leave integers as they are.
template <Op kOp>
Expected<Values> read_rounding(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (is_integer(call.type(self).dtype)) return std::vector<ValueId>{self};
  return one(call.unary(kOp, self));
}

Expected<Values> read_round(Call& call) {
  const std::int64_t decimals = TRY(call.integer("decimals", 0));
  if (decimals == 0) return read_rounding<Op::kRound>(call);
  const ValueId self = TRY(call.tensor("self"));
  const DType dtype = call.type(self).dtype;
  TRY(demand(Numbers::kAll, call.type(self)));
  if (!is_floating(dtype)) return Call::unsupported("rounding integers to decimals is not supported");
  const ValueId unit = call.scalar(portable::pow(10.0, std::abs(static_cast<double>(decimals))), dtype);
  const ValueId scaled = TRY(call.binary(decimals > 0 ? Op::kMul : Op::kDiv, self, unit));
  const ValueId rounded = TRY(call.unary(Op::kRound, scaled));
  return one(call.binary(decimals > 0 ? Op::kDiv : Op::kMul, rounded, unit));
}

Expected<Values> read_frac(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return one(call.binary(Op::kSub, self, TRY(call.unary(Op::kTrunc, self))));
}

Expected<Values> read_positive(Call& call) { return std::vector<ValueId>{TRY(call.tensor("self"))}; }

Expected<ValueId> scaled(Call& call, double factor) {
  const ValueId self = TRY(float_self(call));
  return call.binary(Op::kMul, self, call.scalar(factor, call.type(self).dtype));
}
Expected<Values> read_deg2rad(Call& call) { return one(scaled(call, std::numbers::pi / 180)); }
Expected<Values> read_rad2deg(Call& call) { return one(scaled(call, 180 / std::numbers::pi)); }

Expected<Values> read_sinc(Call& call) {
  const ValueId angle = TRY(scaled(call, std::numbers::pi));
  const DType dtype = call.type(angle).dtype;
  const ValueId is_zero = TRY(call.binary(Op::kEq, angle, call.scalar(0.0, dtype)));
  const ValueId ratio = TRY(call.binary(Op::kDiv, TRY(call.unary(Op::kSin, angle)), angle));
  return one(call.emit(Op::kWhere, NoAttrs{}, {is_zero, call.scalar(1.0, dtype), ratio}));
}

Expected<ValueId> clamped(Call& call, ValueId x, double min, double max);

Expected<Values> read_logit(Call& call) {
  ValueId self = TRY(float_self(call));
  const DType dtype = call.type(self).dtype;
  const double eps = TRY(call.number("eps", -1));
  if (eps >= 0) {
    // The bounds are numbers of the tensor's own type.
    const double low = dtype == DType::kF64 ? eps : static_cast<double>(static_cast<float>(eps));
    const double high = dtype == DType::kF64 ? 1 - low : static_cast<double>(1 - static_cast<float>(eps));
    self = TRY(clamped(call, self, low, high));
  }
  const ValueId other = TRY(call.binary(Op::kSub, call.scalar(1.0, dtype), self));
  return one(call.unary(Op::kLog, TRY(call.binary(Op::kDiv, self, other))));
}

// The share of a normal distribution below x.
Expected<Values> read_ndtr(Call& call) {
  const ValueId x = TRY(scaled(call, -std::numbers::sqrt2 / 2));
  const DType dtype = call.type(x).dtype;
  return one(call.binary(Op::kMul, TRY(call.unary(Op::kErfc, x)), call.scalar(0.5, dtype)));
}

double largest(DType dtype) {
  if (dtype == DType::kF16) return 65504;
  if (dtype == DType::kBF16) return std::ldexp(255.0, 120);
  if (dtype == DType::kF32) return static_cast<double>(std::numeric_limits<float>::max());
  return std::numeric_limits<double>::max();
}

Expected<Values> read_nan_to_num(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const DType dtype = call.type(self).dtype;
  if (!is_floating(dtype)) return std::vector<ValueId>{self};
  const NanToNumAttrs attrs{TRY(call.number("nan", 0)), TRY(call.number("posinf", largest(dtype))),
                            TRY(call.number("neginf", -largest(dtype)))};
  return one(call.emit(Op::kNanToNum, attrs, {self}));
}

// Clamp, and how each name says its bounds.

Expected<TensorType> infer_clamp(const InferContext& context) {
  const auto& attrs = context.as<ClampAttrs>();
  const TensorType& input = context.inputs[0];
  TRY(demand(Numbers::kNoBool, input));
  if (std::isnan(attrs.min) || std::isnan(attrs.max)) return bad_input("a bound is NaN");
  const auto fits = [&](double bound) { return is_floating(input.dtype) || std::trunc(bound) == bound; };
  if (!fits(attrs.min) || !fits(attrs.max)) {
    return bad_input(fmt::format("integers cannot be clamped between {} and {}", attrs.min, attrs.max));
  }
  return input;
}

Expected<ValueId> clamped(Call& call, ValueId x, double min, double max) {
  const DType dtype = call.type(x).dtype;
  if (is_floating(dtype) && (std::isnan(min) || std::isnan(max))) {
    return filled(call, std::numeric_limits<double>::quiet_NaN(), dtype, call.shape(x));
  }
  if (min == -kInfinity && max == kInfinity) return x;
  // The upper bound wins where the two are crossed.
  return call.emit(Op::kClamp, ClampAttrs{std::min(min, max), max}, {x});
}

// Bounds that are tensors: the same numbers by two ops.
Expected<Values> clamp_by_tensors(Call& call) {
  const DType dtype = TRY(common_dtype(call, {"self", "min", "max"}));
  ValueId x = TRY(call.operand("self", dtype));
  if (call.has("min")) x = TRY(call.binary(Op::kMaximum, x, TRY(call.operand("min", dtype))));
  if (call.has("max")) x = TRY(call.binary(Op::kMinimum, x, TRY(call.operand("max", dtype))));
  return std::vector<ValueId>{x};
}

Expected<Values> read_clamp(Call& call) {
  const bool is_fixed = !(call.has("min") && !call.number("min")) && !(call.has("max") && !call.number("max"));
  if (!is_fixed) return clamp_by_tensors(call);
  const DType dtype = TRY(common_dtype(call, {"self", "min", "max"}));
  const ValueId self = TRY(call.operand("self", dtype));
  const double min = TRY(call.number("min", -kInfinity));
  const double max = TRY(call.number("max", kInfinity));
  // Beyond this, doubles do not hold every integer.
  constexpr double kExact = 9007199254740992.0;
  const auto is_exact = [&](double bound) { return std::isinf(bound) || std::abs(bound) < kExact; };
  if (is_integer(dtype) && !(is_exact(min) && is_exact(max))) return clamp_by_tensors(call);
  return one(clamped(call, self, min, max));
}

Expected<Values> read_relu(Call& call) { return one(clamped(call, TRY(call.tensor("self")), 0, kInfinity)); }
Expected<Values> read_relu6(Call& call) { return one(clamped(call, TRY(call.tensor("self")), 0, 6)); }
Expected<Values> read_hardtanh(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const double min = TRY(call.number("min_val", -1));
  return one(clamped(call, self, min, TRY(call.number("max_val", 1))));
}

// Between bounds that scaling does not move.
bool has_homogeneous_bounds(const Attrs& attrs) {
  const auto& [min, max] = std::get<ClampAttrs>(attrs);
  const auto stays = [](double bound) { return bound == 0 || std::isinf(bound); };
  return stays(min) && stays(max);
}

OpDef function(Op op, Infer infer, std::vector<Spelling> spellings) {
  return {.op = op,
          .flow = QFlow::kComputes,
          .roles = {Role::kData},
          .infer = infer,
          .spellings = std::move(spellings),
          .is_elementwise = true,
          .function = RealFunction::kSmooth};
}
OpDef steps(OpDef row) {
  row.function = RealFunction::kSteps;
  return row;
}
// A function of real numbers, under up to three names.
template <Op kOp>
OpDef real(std::initializer_list<std::string_view> names) {
  std::vector<Spelling> spellings;
  for (const std::string_view name : names) spellings.push_back({name, read_float_unary<kOp>});
  return function(kOp, infer_unary<Numbers::kFloats>, std::move(spellings));
}

}  // namespace

Family unary_family() {
  static const OpDef kOps[] = {
      homogeneous(function(Op::kNeg, infer_unary<Numbers::kNoBool>,
                           {{"aten.neg", read_unary<Op::kNeg>}, {"aten.negative", read_unary<Op::kNeg>}})),
      homogeneous(function(Op::kAbs, infer_unary<Numbers::kNoBool>,
                           {{"aten.abs", read_unary<Op::kAbs>}, {"aten.absolute", read_unary<Op::kAbs>}})),
      steps(function(Op::kSign, infer_unary<Numbers::kAll>,
                     {{"aten.sign", read_unary<Op::kSign>}, {"aten.sgn", read_unary<Op::kSign>}})),
      real<Op::kExp>({"aten.exp"}),
      real<Op::kExp2>({"aten.exp2", "aten.special_exp2"}),
      real<Op::kExpm1>({"aten.expm1", "aten.special_expm1"}),
      real<Op::kLog>({"aten.log"}),
      real<Op::kLog2>({"aten.log2"}),
      real<Op::kLog10>({"aten.log10"}),
      real<Op::kLog1p>({"aten.log1p", "aten.special_log1p"}),
      real<Op::kSqrt>({"aten.sqrt"}),
      real<Op::kRsqrt>({"aten.rsqrt"}),
      real<Op::kReciprocal>({"aten.reciprocal"}),
      real<Op::kSin>({"aten.sin"}),
      real<Op::kCos>({"aten.cos"}),
      real<Op::kTan>({"aten.tan"}),
      real<Op::kAsin>({"aten.asin", "aten.arcsin"}),
      real<Op::kAcos>({"aten.acos", "aten.arccos"}),
      real<Op::kAtan>({"aten.atan", "aten.arctan"}),
      real<Op::kSinh>({"aten.sinh"}),
      real<Op::kCosh>({"aten.cosh"}),
      real<Op::kAsinh>({"aten.asinh", "aten.arcsinh"}),
      real<Op::kAcosh>({"aten.acosh", "aten.arccosh"}),
      real<Op::kAtanh>({"aten.atanh", "aten.arctanh"}),
      real<Op::kErf>({"aten.erf", "aten.special_erf"}),
      real<Op::kErfc>({"aten.erfc", "aten.special_erfc"}),
      steps(function(Op::kFloor, infer_unary<Numbers::kFloats>, {{"aten.floor", read_rounding<Op::kFloor>}})),
      steps(function(Op::kCeil, infer_unary<Numbers::kFloats>, {{"aten.ceil", read_rounding<Op::kCeil>}})),
      steps(function(Op::kRound, infer_unary<Numbers::kFloats>,
                     {{"aten.round", read_round}, {"aten.special_round", read_round}})),
      steps(function(Op::kTrunc, infer_unary<Numbers::kFloats>,
                     {{"aten.trunc", read_rounding<Op::kTrunc>}, {"aten.fix", read_rounding<Op::kTrunc>}})),
      {.op = Op::kClamp,
       .flow = QFlow::kNarrowsRange,
       .roles = {Role::kData},
       .infer = infer_clamp,
       .spellings =
           {
               {"aten.clamp", read_clamp},
               {"aten.clip", read_clamp},
               {"aten.clamp_min", read_clamp},
               {"aten.clamp_max", read_clamp},
               {"aten.relu", read_relu},
               {"aten.relu6", read_relu6},
               {"aten.hardtanh", read_hardtanh},
           },
       .is_elementwise = true,
       .is_homogeneous = has_homogeneous_bounds},
      function(Op::kNanToNum, infer_unary<Numbers::kFloats>, {{"aten.nan_to_num", read_nan_to_num}}),
  };
  static const Spelling kCompounds[] = {
      {"aten.frac", read_frac},       {"aten.positive", read_positive},   {"aten.deg2rad", read_deg2rad},
      {"aten.rad2deg", read_rad2deg}, {"aten.sinc", read_sinc},           {"aten.special_sinc", read_sinc},
      {"aten.logit", read_logit},     {"aten.special_logit", read_logit}, {"aten.special_ndtr", read_ndtr},
  };
  return {"unary", kOps, kCompounds};
}

}  // namespace isthmus
