// Activation functions.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/demands.h"
#include "ops/elementwise.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Expected<Values> read_gelu(Call& call) {
  const std::string approximation = TRY(call.text("approximate", "none"));
  if (approximation != "none" && approximation != "tanh") {
    return bad_input("gelu: unknown approximation \"" + approximation + "\"");
  }
  return one(call.emit(Op::kGelu, GeluAttrs{approximation == "tanh"}, {TRY(call.tensor("self"))}));
}

Expected<Values> read_elu(Call& call) {
  const EluAttrs attrs{TRY(call.number("alpha", 1)), TRY(call.number("scale", 1)), TRY(call.number("input_scale", 1))};
  return one(call.emit(Op::kElu, attrs, {TRY(call.tensor("self"))}));
}
Expected<Values> read_celu(Call& call) {
  const double alpha = TRY(call.number("alpha", 1));
  if (alpha == 0) return bad_input("celu with alpha 0 is undefined");
  return one(call.emit(Op::kElu, EluAttrs{alpha, 1, 1 / alpha}, {TRY(call.tensor("self"))}));
}
Expected<Values> read_selu(Call& call) {
  // The fixed point that keeps mean 0 and variance 1.
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return one(call.emit(Op::kElu, EluAttrs{kAlpha, kScale, 1}, {TRY(call.tensor("self"))}));
}

Expected<Values> read_leaky_relu(Call& call) {
  const double slope = TRY(call.number("negative_slope", 0.01));
  return one(call.emit(Op::kLeakyRelu, SlopeAttrs{slope}, {TRY(call.tensor("self"))}));
}

// The slope is drawn at random while training, and is the middle afterwards.
Expected<Values> read_rrelu(Call& call) {
  if (TRY(call.flag("training", false))) {
    return Call::training_mode("random slopes are not supported");
  }
  const double lower = TRY(call.number("lower", 1.0 / 8));
  const double upper = TRY(call.number("upper", 1.0 / 3));
  return one(call.emit(Op::kLeakyRelu, SlopeAttrs{(lower + upper) / 2}, {TRY(call.tensor("self"))}));
}

// The slope broadcasts with x and never enlarges it.
Expected<TensorType> infer_prelu(const InferContext& context) {
  const TensorType result = TRY(infer_broadcast(Numbers::kFloats, context));
  if (result.shape != context.inputs[0].shape)
    return bad_input("the slope has more elements than the input has channels");
  return result;
}

Expected<Values> read_prelu(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  ValueId weight = TRY(call.tensor("weight"));
  if (call.rank(weight) == 1) {
    if (call.size(weight, 0).is(1)) {
      weight = TRY(call.reshape(weight, {}));
    } else if (call.rank(self) > 2) {
      // One slope for each channel, which is axis 1.
      Shape shape(static_cast<std::size_t>(call.rank(self)) - 1, Dim(1));
      shape[0] = call.size(weight, 0);
      weight = TRY(call.reshape(weight, std::move(shape)));
    }
  }
  return one(call.emit(Op::kPrelu, NoAttrs{}, {self, weight}));
}

Expected<TensorType> infer_softplus(const InferContext& context) {
  if (context.as<SoftplusAttrs>().beta == 0) return bad_input("softplus with beta 0 is undefined");
  return infer_unary<Numbers::kFloats>(context);
}
Expected<Values> read_softplus(Call& call) {
  const SoftplusAttrs attrs{TRY(call.number("beta", 1)), TRY(call.number("threshold", 20))};
  return one(call.emit(Op::kSoftplus, attrs, {TRY(call.tensor("self"))}));
}

template <Op kOp>
Expected<Values> read_shrink(Call& call) {
  return one(call.emit(kOp, LambdaAttrs{TRY(call.number("lambd", 0.5))}, {TRY(call.tensor("self"))}));
}

Expected<Values> read_threshold(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const DType dtype = call.type(self).dtype;
  TRY(demand(Numbers::kAll, call.type(self)));
  const double threshold = TRY(call.number("threshold"));
  const double value = TRY(call.number("value"));
  if (threshold == value && is_floating(dtype)) {
    return one(call.emit(Op::kClamp, ClampAttrs{threshold, std::numeric_limits<double>::infinity()}, {self}));
  }
  // NaN is not below anything and stays.
  const ValueId limit = TRY(call.operand("threshold", dtype));
  const ValueId is_below = TRY(call.binary(Op::kLe, self, limit));
  return one(call.emit(Op::kWhere, NoAttrs{}, {is_below, TRY(call.operand("value", dtype)), self}));
}

Expected<Values> read_glu(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) == 0) return bad_input("glu of a 0-d tensor");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), -1));
  const Dim size = call.size(self, axis);
  const auto half = call.exprs().divide_exactly(size, 2);
  if (!half) return bad_input(fmt::format("glu cannot split a size of {} in half", call.exprs().text(size)));
  const ValueId first = TRY(call.slice(self, axis, 0, *half));
  const ValueId second = TRY(call.slice(self, axis, *half, size));
  return one(call.binary(Op::kMul, first, TRY(call.unary(Op::kSigmoid, second))));
}

// The second result is a buffer for the gradient, empty on a CPU's fast path; nothing reads it.
Expected<Values> read_log_sigmoid_forward(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId result = TRY(call.unary(Op::kLogSigmoid, self));
  if (call.result_count() < 2) return std::vector<ValueId>{result};
  const TensorType buffer = call.result(1);
  return std::vector<ValueId>{result, TRY(filled(call, 0, buffer.dtype, buffer.shape))};
}

template <Op kOp>
OpDef activation(std::vector<Spelling> spellings, Infer infer = infer_unary<Numbers::kFloats>,
                 RealFunction function = RealFunction::kSmooth) {
  return {.op = kOp,
          .flow = QFlow::kComputes,
          .roles = {Role::kData},
          .infer = infer,
          .spellings = std::move(spellings),
          .is_elementwise = true,
          .function = function};
}
template <Op kOp>
OpDef bounded(FixedRange range, std::vector<Spelling> spellings) {
  OpDef row = activation<kOp>(std::move(spellings));
  row.flow = QFlow::kFixedRange;
  row.range = range;
  return row;
}

}  // namespace

Family activation_family() {
  static const OpDef kOps[] = {
      bounded<Op::kSigmoid>({0, 1}, {{"aten.sigmoid", read_float_unary<Op::kSigmoid>},
                                     {"aten.special_expit", read_float_unary<Op::kSigmoid>}}),
      bounded<Op::kTanh>({-1, 1}, {{"aten.tanh", read_float_unary<Op::kTanh>}}),
      activation<Op::kSilu>({{"aten.silu", read_unary<Op::kSilu>}}),
      activation<Op::kHardswish>({{"aten.hardswish", read_unary<Op::kHardswish>}}),
      bounded<Op::kHardsigmoid>({0, 1}, {{"aten.hardsigmoid", read_unary<Op::kHardsigmoid>}}),
      activation<Op::kMish>({{"aten.mish", read_unary<Op::kMish>}}),
      activation<Op::kLogSigmoid>({{"aten.log_sigmoid", read_unary<Op::kLogSigmoid>}}),
      activation<Op::kGelu>({{"aten.gelu", read_gelu}}),
      activation<Op::kElu>({{"aten.elu", read_elu}, {"aten.celu", read_celu}, {"aten.selu", read_selu}}),
      homogeneous(activation<Op::kLeakyRelu>(
          {{"aten.leaky_relu", read_leaky_relu}, {"aten.rrelu", read_rrelu}, {"aten.rrelu_with_noise", read_rrelu}})),
      {.op = Op::kPrelu,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kWeight},
       .required = 2,
       .infer = infer_prelu},
      activation<Op::kSoftplus>({{"aten.softplus", read_softplus}}, infer_softplus),
      activation<Op::kHardshrink>({{"aten.hardshrink", read_shrink<Op::kHardshrink>}}, infer_unary<Numbers::kFloats>,
                                  RealFunction::kSteps),
      activation<Op::kSoftshrink>({{"aten.softshrink", read_shrink<Op::kSoftshrink>}}),
  };
  static const Spelling kCompounds[] = {
      {"aten.prelu", read_prelu},
      {"aten._prelu_kernel", read_prelu},
      {"aten.threshold", read_threshold},
      {"aten.glu", read_glu},
      {"aten.log_sigmoid_forward", read_log_sigmoid_forward},
  };
  return {"activation", kOps, kCompounds};
}

}  // namespace isthmus
