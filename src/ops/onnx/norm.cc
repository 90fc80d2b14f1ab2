// Normalizations and softmax of ONNX, and attention.
#include "ops/onnx/norm.h"

#include <fmt/format.h>

#include <numeric>

#include "ops/demands.h"
#include "ops/elementwise.h"
#include "ops/onnx/families.h"

namespace isthmus::onnx_ops {

Ints axes_from(std::int64_t first, std::int64_t rank) {
  Ints axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Expected<Values> layer_norm(Call& call, ValueId x, std::optional<ValueId> scale, std::optional<ValueId> bias,
                            std::int64_t axis, double eps) {
  const Shape shape = call.shape(x);
  const Shape normalized(shape.begin() + axis, shape.end());
  const auto as_normalized = [&](std::optional<ValueId> value) -> Expected<std::optional<ValueId>> {
    if (!value) return std::optional<ValueId>();
    return std::optional(TRY(call.expand(TRY(call.cast(*value, call.type(x).dtype)), normalized)));
  };
  scale = TRY(as_normalized(scale));
  bias = TRY(as_normalized(bias));
  const bool with_statistics = call.result_count() > 1;
  return TorchCall(call, with_statistics ? "aten.native_layer_norm" : "aten.layer_norm")
      .tensor("input", x)
      .integers("normalized_shape", normalized)
      .tensor("weight", scale)
      .tensor("bias", bias)
      .number("eps", eps)
      .results(with_statistics ? 3 : 1)
      .read();
}

Expected<ValueId> rms_norm(Call& call, ValueId x, std::optional<ValueId> scale, std::int64_t axis, double eps) {
  const Shape shape = call.shape(x);
  return TorchCall(call, "aten.rms_norm")
      .tensor("input", x)
      .integers("normalized_shape", Dims(shape.begin() + axis, shape.end()))
      .tensor("weight", scale)
      .number("eps", eps)
      .read_one();
}

namespace {

Expected<Values> read_batch_norm(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  if (TRY(call.flag("training_mode", false)) || (call.has("is_test") && !TRY(call.flag("is_test")))) {
    return Call::unsupported("batch norm in training mode updates its statistics: export the model in eval mode");
  }
  if (TRY(call.integer("spatial", 1)) == 0) return Call::unsupported("batch norm with spatial=0 is not supported");
  const DType dtype = call.type(x).dtype;
  Values inputs{x};
  for (const std::string_view name : {"input_mean", "input_var", "scale", "B"}) {
    inputs.push_back(TRY(call.cast(TRY(call.tensor(name)), dtype)));
  }
  const ValueId result = TRY(call.emit(Op::kBatchNorm, EpsAttrs{TRY(call.number("epsilon", 1e-5))}, std::move(inputs)));
  return one(result);
}

Expected<Values> read_instance_norm(Call& call) {
  return TorchCall(call, "aten.instance_norm")
      .tensor("input", TRY(call.tensor("input")))
      .tensor("weight", TRY(call.tensor("scale")))
      .tensor("bias", TRY(call.tensor("B")))
      .flag("use_input_stats", true)
      .number("eps", TRY(call.number("epsilon", 1e-5)))
      .read();
}

Expected<Values> read_layer_norm(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(x), -1));
  return layer_norm(call, x, call.tensor_if("Scale"), call.tensor_if("B"), axis, TRY(call.number("epsilon", 1e-5)));
}

Expected<Values> read_rms_norm(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(x), -1));
  return one(rms_norm(call, x, call.tensor_if("scale"), axis, TRY(call.number("epsilon", 1e-5))));
}

// Before opset 21 scale and bias are by group.
Expected<Values> read_group_norm(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const std::int64_t groups = TRY(call.integer("num_groups"));
  if (call.rank(x) < 2 || !call.size(x, 1).is_fixed())
    return Call::unsupported("the number of channels must be static");
  const std::int64_t channels = call.size(x, 1).value();
  if (groups < 1 || channels % groups != 0) return bad_input(fmt::format("{} channels in {} groups", channels, groups));
  const auto by_channel = [&](ValueId value) -> Expected<ValueId> {
    if (call.shape(value) == Shape{channels}) return value;
    const ValueId column = TRY(call.reshape(value, {groups, 1}));
    return call.reshape(TRY(call.expand(column, {groups, channels / groups})), {channels});
  };
  return TorchCall(call, "aten.group_norm")
      .tensor("input", x)
      .integer("num_groups", groups)
      .tensor("weight", TRY(by_channel(TRY(call.tensor("scale")))))
      .tensor("bias", TRY(by_channel(TRY(call.tensor("bias")))))
      .number("eps", TRY(call.number("epsilon", 1e-5)))
      .read();
}

Expected<Values> read_lp_normalization(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(input), -1));
  const VectorNormAttrs attrs{{axis}, true, TRY(call.number("p", 2))};
  return one(call.binary(Op::kDiv, input, TRY(call.emit(Op::kVectorNorm, attrs, {input}))));
}

Expected<Values> read_mean_variance(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const Ints axes = TRY(normal_axes(TRY(call.integers("axes", Ints{0, 2, 3})), call.rank(x), false));
  const ValueId mean = TRY(call.emit(Op::kMean, ReduceAttrs{axes, true}, {x}));
  const ValueId variance = TRY(call.emit(Op::kVariance, VarianceAttrs{axes, true, 0}, {x}));
  const ValueId eps = TRY(scalar_like(call, 1e-9, x));
  const ValueId deviation = TRY(call.binary(Op::kAdd, TRY(call.unary(Op::kSqrt, variance)), eps));
  return one(call.binary(Op::kDiv, TRY(call.binary(Op::kSub, x, mean)), deviation));
}

// Each number over a power of the sum of squares of its neighbours in other channels.
Expected<Values> read_lrn(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const std::int64_t size = TRY(call.integer("size"));
  const double alpha = TRY(call.number("alpha", 1e-4));
  const double beta = TRY(call.number("beta", 0.75));
  const double bias = TRY(call.number("bias", 1));
  const Shape shape = call.shape(x);
  if (shape.size() < 3 || size < 1 || size > (1 << 20))
    return bad_input(call.target() + ": expected an image and a size");
  const Dim pixels = call.exprs().product(std::span(shape).subspan(2));
  const ValueId rows = TRY(call.reshape(x, {shape[0], 1, shape[1], pixels}));
  const ValueId squares = TRY(call.binary(Op::kMul, rows, rows));
  const PadAttrs pad{PadMode::kConstant, {0, 0, (size - 1) / 2, 0}, {0, 0, size / 2, 0}, 0};
  const ValueId padded = size == 1 ? squares : TRY(call.emit(Op::kPad, pad, {squares}));
  const AvgPoolAttrs pool{{size, 1}, {1, 1}, {0, 0, 0, 0}, false, true, 0};
  const ValueId mean = TRY(call.emit(Op::kAvgPool2d, pool, {padded}));
  const ValueId scaled = TRY(call.binary(Op::kMul, mean, TRY(scalar_like(call, alpha, x))));
  const ValueId sum = TRY(call.binary(Op::kAdd, scaled, TRY(scalar_like(call, bias, x))));
  const ValueId power = TRY(call.binary(Op::kPow, sum, TRY(scalar_like(call, beta, x))));
  return one(call.reshape(TRY(call.binary(Op::kDiv, rows, power)), shape));
}

// Before opset 13 all axes from the given one on are one.
Expected<Values> softmax_of_rows(Call& call, Op op) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t axis = TRY(call.axis("axis", call.rank(input), 1));
  const Shape shape = call.shape(input);
  if (axis == call.rank(input) - 1) return one(call.emit(op, AxisAttrs{axis}, {input}));
  const auto at = static_cast<std::size_t>(axis);
  const ValueId rows = TRY(call.reshape(
      input, {call.exprs().product(std::span(shape).first(at)), call.exprs().product(std::span(shape).subspan(at))}));
  return one(call.reshape(TRY(call.emit(op, AxisAttrs{1}, {rows})), shape));
}
Expected<Values> softmax_of_axis(Call& call, Op op) {
  const ValueId input = TRY(call.tensor("input"));
  return one(call.emit(op, AxisAttrs{TRY(call.axis("axis", call.rank(input), -1))}, {input}));
}
Expected<Values> read_softmax_of_rows(Call& call) { return softmax_of_rows(call, Op::kSoftmax); }
Expected<Values> read_softmax(Call& call) { return softmax_of_axis(call, Op::kSoftmax); }
Expected<Values> read_log_softmax_of_rows(Call& call) { return softmax_of_rows(call, Op::kLogSoftmax); }
Expected<Values> read_log_softmax(Call& call) { return softmax_of_axis(call, Op::kLogSoftmax); }

// [B, S, H * D] as [B, H, S, D].
Expected<ValueId> apart(Call& call, ValueId value, std::int64_t heads) {
  const Shape shape = call.shape(value);
  if (shape.size() == 4) return value;
  const auto size = shape.size() == 3 && heads > 0 ? call.exprs().divide_exactly(shape[2], heads) : std::nullopt;
  if (!size) return bad_input(fmt::format("{}: the operand is not divisible by {} heads", call.target(), heads));
  return call.permute(TRY(call.reshape(value, {shape[0], shape[1], heads, *size})), {0, 2, 1, 3});
}

Expected<Values> read_attention(Call& call) {
  if (call.has("past_key") || call.has("past_value") || call.result_count() > 1) {
    return Call::unsupported("attention with a key-value cache is not supported");
  }
  if (TRY(call.number("softcap", 0)) != 0) return Call::unsupported("attention with softcap is not supported");
  const ValueId given = TRY(call.tensor("Q"));
  const std::int64_t heads = TRY(call.integer("q_num_heads", 0));
  const std::int64_t kv_heads = TRY(call.integer("kv_num_heads", heads));
  const ValueId query = TRY(apart(call, given, heads));
  TorchCall attention(call, "aten.scaled_dot_product_attention");
  attention.tensor("query", query)
      .tensor("key", TRY(apart(call, TRY(call.tensor("K")), kv_heads)))
      .tensor("value", TRY(apart(call, TRY(call.tensor("V")), kv_heads)))
      .tensor("attn_mask", call.tensor_if("attn_mask"))
      .flag("is_causal", TRY(call.flag("is_causal", false)))
      .flag("enable_gqa", true);
  if (call.has("scale")) attention.number("scale", TRY(call.number("scale")));
  const ValueId result = TRY(attention.read_one());
  if (call.rank(given) == 4) return one(result);
  const ValueId joined = TRY(call.permute(result, {0, 2, 1, 3}));
  const Shape shape = call.shape(joined);
  return one(call.reshape(joined, {shape[0], shape[1], call.exprs().multiply(shape[2], shape[3])}));
}

}  // namespace

Family norm_family() {
  static constexpr Row kRows[] = {
      row("onnx.BatchNormalization", "X scale B input_mean input_var", read_batch_norm),
      row("onnx.InstanceNormalization", "input scale B", read_instance_norm),
      row("onnx.LayerNormalization", "X Scale B", read_layer_norm),
      row("onnx.RMSNormalization", "X scale", read_rms_norm),
      row("onnx.SimplifiedLayerNormalization", "X scale", read_rms_norm),
      row("onnx.GroupNormalization", "X scale bias", read_group_norm),
      row("onnx.LpNormalization", "input", read_lp_normalization),
      row("onnx.MeanVarianceNormalization", "X", read_mean_variance),
      row("onnx.LRN", "X", read_lrn),
      row("onnx.Softmax.1", "input", read_softmax_of_rows),
      row("onnx.Softmax.13", "input", read_softmax),
      row("onnx.LogSoftmax.1", "input", read_log_softmax_of_rows),
      row("onnx.LogSoftmax.13", "input", read_log_softmax),
      row("onnx.Attention", "Q K V attn_mask past_key past_value", read_attention),
  };
  return family_of("onnx norm", kRows);
}

}  // namespace isthmus::onnx_ops
