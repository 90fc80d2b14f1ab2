// Scaled dot-product attention, kept whole.
#include <fmt/format.h>

#include <cmath>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

Expected<TensorType> infer_attention(const InferContext& context) {
  const TensorType& query = context.inputs[0];
  const TensorType& key = context.inputs[1];
  const TensorType& value = context.inputs[2];
  TRY(demand_floats(query));
  for (const TensorType& input : context.inputs.first(3)) {
    TRY(demand_same_dtype(input, query));
    if (input.rank() < 2) return bad_input(fmt::format("an input has rank {}, expected at least 2", input.rank()));
  }
  const double scale = context.as<AttentionAttrs>().scale;
  if (!std::isfinite(scale)) return bad_input("scale is NaN or infinite");
  TRY(demand_equal(context.exprs, key.shape.back(), query.shape.back(), "last dimension of the keys"));
  const Dim queries = query.shape[query.rank() - 2];
  const Dim keys = key.shape[key.rank() - 2];
  TRY(demand_equal(context.exprs, value.shape[value.rank() - 2], keys, "length of the values"));
  TensorType result{query.dtype, TRY(broadcast(context.exprs, batch_of(query.shape), batch_of(key.shape)))};
  result.shape = TRY(broadcast(context.exprs, result.shape, batch_of(value.shape)));
  result.shape.push_back(queries);
  if (context.inputs.size() > 3) {
    const TensorType& mask = context.inputs[3];
    if (mask.dtype != DType::kBool) TRY(demand_same_dtype(mask, query));
    Shape scores = result.shape;
    scores.push_back(keys);
    if (TRY(broadcast(context.exprs, scores, mask.shape)) != scores) {
      return bad_input("the mask is larger than [queries, keys]");
    }
  }
  result.shape.push_back(value.shape.back());
  return result;
}

// Each head as often as needed for one per head of the query, copies next to each other.
Expected<ValueId> repeat_heads(Call& call, ValueId heads, Dim wanted) {
  const std::int64_t axis = call.rank(heads) - 3;
  if (axis < 0) return bad_input(call.target() + ": grouped-query attention needs an axis of heads");
  const Dim own = call.size(heads, axis);
  if (own == wanted) return heads;
  if (!own.is_fixed() || !wanted.is_fixed())
    return Call::unsupported("grouped-query attention needs a static number of heads");
  if (own.value() < 1 || wanted.value() % own.value() != 0) {
    return bad_input(fmt::format("{}: {} query heads for {} key heads", call.target(), own.value(), wanted.value()));
  }
  Shape shape = call.shape(heads);
  shape.insert(shape.begin() + axis + 1, Dim(1));
  const ValueId apart = TRY(call.reshape(heads, shape));
  shape[static_cast<std::size_t>(axis + 1)] = wanted.value() / own.value();
  const ValueId copies = TRY(call.expand(apart, shape));
  shape.erase(shape.begin() + axis);
  shape[static_cast<std::size_t>(axis)] = wanted;
  return call.reshape(copies, std::move(shape));
}

Expected<Values> attention_inputs(Call& call) {
  if (TRY(call.number("dropout_p", 0)) > 0) return Call::training_mode("attention with dropout is not supported");
  const ValueId query = TRY(call.tensor("query"));
  ValueId key = TRY(call.tensor("key"));
  ValueId value = TRY(call.tensor("value"));
  if (TRY(call.flag("enable_gqa", false)) && call.rank(query) >= 3) {
    const Dim heads = call.size(query, call.rank(query) - 3);
    key = TRY(repeat_heads(call, key, heads));
    value = TRY(repeat_heads(call, value, heads));
  }
  Values inputs{query, key, value};
  const auto mask = call.has("attn_mask") ? call.tensor_if("attn_mask") : call.tensor_if("attn_bias");
  if (mask) {
    const bool is_bool = call.type(*mask).dtype == DType::kBool;
    inputs.push_back(is_bool ? *mask : TRY(call.cast(*mask, call.type(query).dtype)));
  }
  return inputs;
}

Expected<AttentionAttrs> attention_attrs(Call& call) {
  AttentionAttrs attrs{TRY(call.number("scale", 0)), TRY(call.flag("is_causal", false))};
  if (call.has("scale") && attrs.scale == 0) return Call::unsupported("attention with scale 0 is not supported");
  // The default scale, spelled out, is the default.
  const ValueId query = TRY(call.tensor("query"));
  if (call.rank(query) >= 1 && call.shape(query).back().is_fixed()) {
    const auto size = static_cast<double>(call.shape(query).back().value());
    if (attrs.scale == 1 / std::sqrt(size)) attrs.scale = 0;
  }
  return attrs;
}

Expected<Values> read_attention(Call& call) {
  Values inputs = TRY(attention_inputs(call));
  return one(call.emit(Op::kAttention, TRY(attention_attrs(call)), std::move(inputs)));
}

// Also gives the logarithm of each row's sum, which only training reads.
Expected<Values> read_attention_with_sums(Call& call) {
  const Values inputs = TRY(attention_inputs(call));
  const AttentionAttrs attrs = TRY(attention_attrs(call));
  Values results{TRY(call.emit(Op::kAttention, attrs, inputs))};
  if (inputs.size() > 3 || attrs.is_causal)
    return Call::unsupported("log-sum-exp of masked attention is not supported");
  const ValueId query = inputs[0];
  const ValueId key = inputs[1];
  Ints axes(call.shape(key).size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  const ValueId scores = TRY(call.binary(Op::kMatmul, query, TRY(call.permute(key, std::move(axes)))));
  if (attrs.scale == 0 && !call.shape(query).back().is_fixed())
    return Call::unsupported("attention needs a static head size");
  const double scale =
      attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(call.shape(query).back().value()));
  const ValueId scaled = TRY(call.binary(Op::kMul, scores, call.scalar(scale, call.type(scores).dtype)));
  const ValueId wide = TRY(call.cast(scaled, DType::kF32));
  results.push_back(TRY(call.emit(Op::kLogsumexp, ReduceAttrs{{call.rank(wide) - 1}, false}, {wide})));
  return results;
}

}  // namespace

Family attention_family() {
  static const OpDef kOps[] = {
      {.op = Op::kAttention,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kData, Role::kData, Role::kParameter},
       .required = 3,
       .infer = infer_attention,
       .spellings = {{"aten.scaled_dot_product_attention", read_attention}}},
  };
  static const Spelling kCompounds[] = {
      {"aten._scaled_dot_product_flash_attention_for_cpu", read_attention_with_sums},
  };
  return {"attention", kOps, kCompounds};
}

}  // namespace isthmus
