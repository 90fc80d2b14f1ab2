// Fused operators that ONNX Runtime's exporters and optimizers write (com.microsoft).
#include <fmt/format.h>

#include "ops/families/product.h"
#include "ops/onnx/families.h"
#include "ops/onnx/layers.h"
#include "ops/onnx/norm.h"

namespace isthmus::onnx_ops {
namespace {

Expected<ValueId> transposed_last(Call& call, ValueId value) {
  Ints axes(call.shape(value).size());
  if (axes.size() < 2) return value;
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return call.permute(value, std::move(axes));
}

Expected<Values> read_fused_matmul(Call& call) {
  ValueId a = TRY(call.tensor("A"));
  ValueId b = TRY(call.tensor("B"));
  if (TRY(call.flag("transBatchA", false)) || TRY(call.flag("transBatchB", false))) {
    return Call::unsupported("transposed batches are not supported");
  }
  if (TRY(call.flag("transA", false))) a = TRY(transposed_last(call, a));
  if (TRY(call.flag("transB", false))) b = TRY(transposed_last(call, b));
  const ValueId product = TRY(matmul(call, a, b));
  const double alpha = TRY(call.number("alpha", 1));
  if (alpha == 1) return one(product);
  return one(call.binary(Op::kMul, product, TRY(scalar_like(call, alpha, product))));
}

// The operator that a fused one ends in, by its name.
Expected<ValueId> activated(Call& call, ValueId value) {
  const std::string name = TRY(call.text("activation", ""));
  if (name.empty()) return value;
  const std::vector<double> parameters = TRY(call.numbers("activation_params", std::vector<double>{}));
  TorchCall inner(call, "onnx." + name + ".13");
  if (!inner.is_known()) return Call::unsupported(fmt::format("unsupported activation {}", name));
  inner.tensor("X", value);
  if (name == "Clip" && parameters.size() == 2) inner.number("min", parameters[0]).number("max", parameters[1]);
  if (name != "Clip" && !parameters.empty()) inner.number("alpha", parameters[0]);
  if (name == "HardSigmoid" && parameters.size() == 2) inner.number("beta", parameters[1]);
  return inner.read_one();
}

Expected<Values> read_fused_conv(Call& call) {
  ValueId result = TRY(conv(call, TRY(call.tensor("X")), TRY(call.tensor("W")), call.tensor_if("B")));
  if (const auto added = call.tensor_if("Z")) result = TRY(call.binary(Op::kAdd, result, *added));
  return one(activated(call, result));
}
Expected<Values> read_fused_gemm(Call& call) {
  return one(activated(call, TRY(gemm(call, TRY(call.tensor("A")), TRY(call.tensor("B")), call.tensor_if("C")))));
}

Expected<Values> read_bias_gelu(Call& call) {
  const ValueId sum = TRY(call.binary(Op::kAdd, TRY(call.tensor("A")), TRY(call.tensor("B"))));
  return one(call.emit(Op::kGelu, GeluAttrs{false}, {sum}));
}
Expected<Values> read_fast_gelu(Call& call) {
  ValueId x = TRY(call.tensor("X"));
  if (const auto bias = call.tensor_if("bias")) x = TRY(call.binary(Op::kAdd, x, *bias));
  return one(call.emit(Op::kGelu, GeluAttrs{true}, {x}));
}
Expected<Values> read_quick_gelu(Call& call) {
  const ValueId x = TRY(call.tensor("X"));
  const double alpha = TRY(call.number("alpha", 1.702));
  if (alpha == 1) return one(call.unary(Op::kSilu, x));
  const ValueId scaled = TRY(call.binary(Op::kMul, x, TRY(scalar_like(call, alpha, x))));
  return one(call.binary(Op::kMul, x, TRY(call.unary(Op::kSigmoid, scaled))));
}

// The sum that is normalized may be wanted as well: the fourth result.
Expected<ValueId> skip_sum(Call& call) {
  ValueId sum = TRY(call.binary(Op::kAdd, TRY(call.tensor("input")), TRY(call.tensor("skip"))));
  if (const auto bias = call.tensor_if("bias")) sum = TRY(call.binary(Op::kAdd, sum, *bias));
  return sum;
}
Expected<Values> read_skip_layer_norm(Call& call) {
  const ValueId sum = TRY(skip_sum(call));
  Values results = TRY(layer_norm(call, sum, call.tensor_if("gamma"), call.tensor_if("beta"), call.rank(sum) - 1,
                                  TRY(call.number("epsilon", 1e-12))));
  while (results.size() < 3) results.push_back(sum);
  results.push_back(sum);
  return results;
}
Expected<Values> read_skip_rms_norm(Call& call) {
  const ValueId sum = TRY(skip_sum(call));
  const ValueId result =
      TRY(rms_norm(call, sum, call.tensor_if("gamma"), call.rank(sum) - 1, TRY(call.number("epsilon", 1e-12))));
  if (call.result_count() > 1 && call.result_count() < 4)
    return Call::unsupported("outputs for training are not supported");
  return Values{result, sum, sum, sum};
}

// What is added to scores: large negative numbers where a mask of tokens has zeros.
Expected<std::optional<ValueId>> attention_mask(Call& call, const Shape& product) {
  std::optional<ValueId> mask;
  if (const auto given = call.tensor_if("mask_index")) {
    const Shape shape = call.shape(*given);
    if (shape.size() != 2 || shape[0] != product[0] || shape[1] != product[1]) {
      return Call::unsupported("only a mask per token is supported");
    }
    const ValueId zero = call.scalar(std::int64_t{0}, call.type(*given).dtype);
    const double hidden = TRY(call.number("mask_filter_value", -10000));
    const ValueId added = TRY(call.emit(
        Op::kWhere, NoAttrs{},
        {TRY(call.binary(Op::kEq, *given, zero)), call.scalar(hidden, DType::kF32), call.scalar(0.0, DType::kF32)}));
    mask = TRY(call.reshape(added, {shape[0], 1, 1, shape[1]}));
  }
  if (const auto bias = call.tensor_if("attention_bias")) {
    mask = mask ? TRY(call.binary(Op::kAdd, *mask, *bias)) : *bias;
  }
  return mask;
}

// One product for query, key and value of all heads, then attention.
Expected<Values> read_attention(Call& call) {
  for (const std::string_view name : {"past", "past_sequence_length"}) {
    if (call.has(name)) return Call::unsupported(fmt::format("attention with {} is not supported", name));
  }
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t heads = TRY(call.integer("num_heads"));
  if (call.has("qkv_hidden_sizes") || call.rank(input) != 3 || call.result_count() > 1) {
    return Call::unsupported("this form of attention is not supported");
  }
  ValueId product = TRY(matmul(call, input, TRY(call.tensor("weights"))));
  if (const auto bias = call.tensor_if("bias")) product = TRY(call.binary(Op::kAdd, product, *bias));
  const Shape shape = call.shape(product);
  const auto third = call.exprs().divide_exactly(shape[2], 3);
  const auto size = third && heads > 0 ? call.exprs().divide_exactly(*third, heads) : std::nullopt;
  if (!size) return bad_input(fmt::format("the weights are not divisible by {} heads", heads));
  const auto part = [&](std::int64_t i) -> Expected<ValueId> {
    const Dim start = call.exprs().multiply(*third, i);
    const ValueId slice = TRY(call.slice(product, 2, start, call.exprs().add(start, *third)));
    return call.permute(TRY(call.reshape(slice, {shape[0], shape[1], heads, *size})), {0, 2, 1, 3});
  };
  TorchCall attention(call, "aten.scaled_dot_product_attention");
  attention.tensor("query", TRY(part(0))).tensor("key", TRY(part(1))).tensor("value", TRY(part(2)));
  attention.tensor("attn_mask", TRY(attention_mask(call, shape)));
  attention.flag("is_causal", TRY(call.flag("unidirectional", false)));
  if (call.has("scale")) attention.number("scale", TRY(call.number("scale")));
  const ValueId joined = TRY(call.permute(TRY(attention.read_one()), {0, 2, 1, 3}));
  return one(call.reshape(joined, {shape[0], shape[1], *third}));
}

}  // namespace

Family fused_family() {
  static constexpr Row kRows[] = {
      row("onnx.com.microsoft.FusedMatMul", "A B", read_fused_matmul),
      row("onnx.com.microsoft.FusedGemm", "A B C", read_fused_gemm),
      row("onnx.com.microsoft.FusedConv", "X W B Z", read_fused_conv),
      row("onnx.com.microsoft.BiasGelu", "A B", read_bias_gelu),
      row("onnx.com.microsoft.FastGelu", "X bias", read_fast_gelu),
      row("onnx.com.microsoft.QuickGelu", "X", read_quick_gelu),
      row("onnx.com.microsoft.SkipLayerNormalization", "input skip gamma beta bias", read_skip_layer_norm),
      row("onnx.com.microsoft.SkipSimplifiedLayerNormalization", "input skip gamma bias", read_skip_rms_norm),
      row("onnx.com.microsoft.Attention", "input weights bias mask_index past attention_bias past_sequence_length",
          read_attention),
  };
  return family_of("onnx fused", kRows);
}

}  // namespace isthmus::onnx_ops
