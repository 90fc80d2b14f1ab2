// Normalization over batches, layers and groups.
#include <fmt/format.h>

#include <limits>
#include <numeric>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

// A parameter may be f32 beside an input of half precision.
Expected<void> demand_parameter(const TensorType& parameter, const TensorType& input) {
  TRY(demand_floats(parameter));
  if (parameter.dtype == input.dtype) return {};
  if (size_of(input.dtype) == 2 && parameter.dtype == DType::kF32) return {};
  return demand_same_dtype(parameter, input);
}

Expected<TensorType> infer_batch_norm(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  TRY(demand_floats(input));
  if (input.rank() < 2) return bad_input(fmt::format("an input has rank {}, expected at least 2", input.rank()));
  for (const TensorType& parameter : context.inputs.subspan(1)) {
    TRY(demand_parameter(parameter, input));
    TRY(demand_rank(parameter, 1));
    TRY(demand_equal(context.exprs, parameter.shape[0], input.shape[1], "size of a parameter"));
  }
  return input;
}

Expected<TensorType> infer_layer_norm(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const std::int64_t axes = context.as<LayerNormAttrs>().axes;
  TRY(demand_floats(input));
  if (axes < 1 || axes > static_cast<std::int64_t>(input.rank())) {
    return bad_input(fmt::format("the last {} axes are out of range for rank {}", axes, input.rank()));
  }
  const Shape normalized(input.shape.end() - axes, input.shape.end());
  for (const TensorType& parameter : context.inputs.subspan(1)) {
    TRY(demand_parameter(parameter, input));
    TRY(demand_rank(parameter, normalized.size()));
    for (std::size_t i = 0; i < normalized.size(); ++i) {
      TRY(demand_equal(context.exprs, parameter.shape[i], normalized[i], "size of a parameter"));
    }
  }
  return input;
}

Expected<TensorType> infer_group_norm(const InferContext& context) {
  const TensorType& input = context.inputs[0];
  const std::int64_t groups = context.as<GroupNormAttrs>().groups;
  TRY(demand_floats(input));
  if (input.rank() < 2) return bad_input(fmt::format("an input has rank {}, expected at least 2", input.rank()));
  if (!input.shape[1].is_fixed()) return fail(ErrorKind::kUnsupported, "group_norm needs a static number of channels");
  if (groups < 1 || input.shape[1].value() % groups != 0) {
    return bad_input(fmt::format("{} channels in {} groups", input.shape[1].value(), groups));
  }
  for (const TensorType& parameter : context.inputs.subspan(1)) {
    TRY(demand_parameter(parameter, input));
    TRY(demand_rank(parameter, 1));
    TRY(demand_equal(context.exprs, parameter.shape[0], input.shape[1], "size of a parameter"));
  }
  return input;
}

Expected<ValueId> filled(Call& call, double number, DType dtype, Shape shape) {
  return call.expand(call.scalar(number, dtype), std::move(shape));
}

// x, then weight and bias where there are any; a weight of ones where there is only a bias.
Expected<Values> with_affine(Call& call, ValueId input, const Shape& shape) {
  Values inputs{input};
  const auto weight = call.tensor_if("weight");
  const auto bias = call.tensor_if("bias");
  if (weight) inputs.push_back(*weight);
  if (!weight && bias) inputs.push_back(TRY(filled(call, 1, call.type(input).dtype, shape)));
  if (bias) inputs.push_back(*bias);
  return inputs;
}

Ints all_but(std::int64_t rank, std::int64_t left_out) {
  Ints axes;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != left_out) axes.push_back(i);
  }
  return axes;
}

Expected<ValueId> reciprocal_deviation(Call& call, ValueId variance, double eps) {
  const ValueId shifted = TRY(call.binary(Op::kAdd, variance, call.scalar(eps, call.type(variance).dtype)));
  return call.unary(Op::kRsqrt, shifted);
}

struct Statistics {
  ValueId mean;
  ValueId variance;
};

Expected<Statistics> statistics(Call& call, ValueId input, const Ints& axes, bool keepdim) {
  const ValueId mean = TRY(call.emit(Op::kMean, ReduceAttrs{axes, keepdim}, {input}));
  return Statistics{mean, TRY(call.emit(Op::kVariance, VarianceAttrs{axes, keepdim, 0}, {input}))};
}

Expected<ValueId> normalize_batch(Call& call, ValueId input, Statistics with, double eps) {
  if (call.rank(input) < 2) return bad_input(call.target() + ": the input has no channel axis");
  const Shape channels{call.size(input, 1)};
  const DType dtype = call.type(with.mean).dtype;
  const auto weight = call.tensor_if("weight");
  const auto bias = call.tensor_if("bias");
  const ValueId factor = weight ? *weight : TRY(filled(call, 1, dtype, channels));
  const ValueId offset = bias ? *bias : TRY(filled(call, 0, dtype, channels));
  return call.emit(Op::kBatchNorm, EpsAttrs{eps}, {input, with.mean, with.variance, factor, offset});
}

// The statistics that a call in eval mode uses: recorded ones, or those of this batch where none are recorded. A call
// that would also change the recorded ones is a training step.
Expected<Statistics> batch_statistics(Call& call, ValueId input, bool is_training) {
  const auto mean = call.tensor_if("running_mean");
  const auto variance = call.tensor_if("running_var");
  if (mean && variance) {
    if (is_training) return Call::training_mode("batch norm that updates its statistics");
    return Statistics{*mean, *variance};
  }
  if (call.rank(input) < 2) return bad_input(call.target() + ": the input has no channel axis");
  return statistics(call, input, all_but(call.rank(input), 1), false);
}

Expected<Values> read_batch_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const Statistics with = TRY(batch_statistics(call, input, TRY(call.flag("training", false))));
  return one(normalize_batch(call, input, with, TRY(call.number("eps", 1e-5))));
}

// Also returns the statistics of the batch, or empty tensors where recorded ones were used.
Expected<Values> read_native_batch_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const double eps = TRY(call.number("eps", 1e-5));
  const Statistics with = TRY(batch_statistics(call, input, TRY(call.flag("training", false))));
  Values results{TRY(normalize_batch(call, input, with, eps))};
  if (call.has("running_mean")) {
    const ValueId nothing = TRY(filled(call, 0, call.type(with.mean).dtype, {0}));
    results.insert(results.end(), {nothing, nothing});
  } else {
    results.insert(results.end(), {with.mean, TRY(reciprocal_deviation(call, with.variance, eps))});
  }
  // Newer forms return bytes reserved for a backward pass, too.
  while (results.size() < call.result_count()) results.push_back(TRY(filled(call, 0, DType::kU8, {0})));
  return results;
}

Expected<ValueId> normalize_groups(Call& call, ValueId input, std::int64_t groups, double eps) {
  if (call.rank(input) < 2) return bad_input(call.target() + ": the input has no channel axis");
  Values inputs = TRY(with_affine(call, input, {call.size(input, 1)}));
  return call.emit(Op::kGroupNorm, GroupNormAttrs{groups, eps}, std::move(inputs));
}

Expected<Values> read_group_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  return one(normalize_groups(call, input, TRY(call.integer("num_groups")), TRY(call.number("eps", 1e-5))));
}

Expected<Values> read_native_group_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t groups = TRY(call.integer("group"));
  const double eps = TRY(call.number("eps"));
  const ValueId result = TRY(normalize_groups(call, input, groups, eps));
  const Shape& shape = call.shape(input);
  const auto members = call.exprs().divide_exactly(call.exprs().product(std::span(shape).subspan(1)), groups);
  if (!members) return Call::unsupported("group_norm needs a static group size");
  const ValueId rows = TRY(call.reshape(input, {shape[0], groups, *members}));
  const Statistics of_groups = TRY(statistics(call, rows, {2}, false));
  return Values{result, of_groups.mean, TRY(reciprocal_deviation(call, of_groups.variance, eps))};
}

Expected<Values> read_instance_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const double eps = TRY(call.number("eps", 1e-5));
  if (!TRY(call.flag("use_input_stats", true))) {
    const Statistics with{TRY(call.tensor("running_mean")), TRY(call.tensor("running_var"))};
    return one(normalize_batch(call, input, with, eps));
  }
  if (call.has("running_mean")) {
    return Call::training_mode("instance norm that updates its statistics");
  }
  if (call.rank(input) < 2) return bad_input(call.target() + ": the input has no channel axis");
  const Dim channels = call.size(input, 1);
  if (!channels.is_fixed()) return Call::unsupported("instance norm needs a static number of channels");
  return one(normalize_groups(call, input, channels.value(), eps));
}

Expected<std::int64_t> normalized_axes(Call& call, ValueId input) {
  const Dims shape = TRY(call.dims("normalized_shape"));
  const auto axes = static_cast<std::int64_t>(shape.size());
  if (axes < 1 || axes > call.rank(input)) return bad_input(call.target() + ": normalized_shape has the wrong length");
  for (std::int64_t i = 0; i < axes; ++i) {
    TRY(demand_equal(call.exprs(), call.size(input, call.rank(input) - axes + i), shape[static_cast<std::size_t>(i)],
                     "normalized size"));
  }
  return axes;
}

Expected<ValueId> normalize_layer(Call& call, ValueId input, std::int64_t axes, double eps) {
  const Shape& shape = call.shape(input);
  Values inputs = TRY(with_affine(call, input, Shape(shape.end() - axes, shape.end())));
  return call.emit(Op::kLayerNorm, LayerNormAttrs{axes, eps}, std::move(inputs));
}

Expected<Values> read_layer_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t axes = TRY(normalized_axes(call, input));
  return one(normalize_layer(call, input, axes, TRY(call.number("eps", 1e-5))));
}

Ints last_axes(std::int64_t rank, std::int64_t count) {
  Ints axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), rank - count);
  return axes;
}

Expected<Values> read_native_layer_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const std::int64_t axes = TRY(normalized_axes(call, input));
  const double eps = TRY(call.number("eps"));
  const ValueId result = TRY(normalize_layer(call, input, axes, eps));
  const Statistics with = TRY(statistics(call, input, last_axes(call.rank(input), axes), true));
  return Values{result, with.mean, TRY(reciprocal_deviation(call, with.variance, eps))};
}

// x / sqrt(mean(x * x) + eps) * weight; half precision is computed in f32 and rounded once.
Expected<Values> read_rms_norm(Call& call) {
  const ValueId input = TRY(call.tensor("input"));
  const DType dtype = call.type(input).dtype;
  TRY(demand_floats(call.type(input)));
  const std::int64_t axes = TRY(normalized_axes(call, input));
  const DType inside = size_of(dtype) == 2 ? DType::kF32 : dtype;
  const double smallest = dtype == DType::kF64    ? std::numeric_limits<double>::epsilon()
                          : dtype == DType::kF16  ? 0x1p-10
                          : dtype == DType::kBF16 ? 0x1p-7
                                                  : static_cast<double>(std::numeric_limits<float>::epsilon());
  const double eps = TRY(call.number("eps", smallest));
  const ValueId x = TRY(call.cast(input, inside));
  const ValueId square = TRY(call.binary(Op::kMul, x, x));
  const ValueId mean = TRY(call.emit(Op::kMean, ReduceAttrs{last_axes(call.rank(x), axes), true}, {square}));
  const ValueId factor = TRY(reciprocal_deviation(call, mean, eps));
  ValueId result = TRY(call.binary(Op::kMul, x, factor));
  if (const auto weight = call.tensor_if("weight")) {
    result = TRY(call.binary(Op::kMul, result, TRY(call.cast(*weight, inside))));
  }
  Values results{TRY(call.cast(result, dtype))};
  if (call.result_count() > 1) results.push_back(factor);
  return results;
}

}  // namespace

Family norm_family() {
  static const OpDef kOps[] = {
      {.op = Op::kBatchNorm,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kParameter, Role::kParameter, Role::kParameter, Role::kParameter},
       .required = 5,
       .infer = infer_batch_norm,
       .spellings = {{"aten.batch_norm", read_batch_norm}}},
      {.op = Op::kLayerNorm,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kParameter, Role::kParameter},
       .infer = infer_layer_norm,
       .spellings = {{"aten.layer_norm", read_layer_norm}}},
      {.op = Op::kGroupNorm,
       .flow = QFlow::kComputes,
       .roles = {Role::kData, Role::kParameter, Role::kParameter},
       .infer = infer_group_norm,
       .spellings = {{"aten.group_norm", read_group_norm}, {"aten.instance_norm", read_instance_norm}}},
  };
  static const Spelling kCompounds[] = {
      {"aten.native_batch_norm", read_native_batch_norm},
      {"aten._native_batch_norm_legit", read_native_batch_norm},
      {"aten._native_batch_norm_legit_no_training", read_native_batch_norm},
      {"aten._batch_norm_no_update", read_native_batch_norm},
      {"aten.native_layer_norm", read_native_layer_norm},
      {"aten.native_group_norm", read_native_group_norm},
      {"aten.rms_norm", read_rms_norm},
      {"aten._fused_rms_norm", read_rms_norm},
  };
  return {"norm", kOps, kCompounds};
}

}  // namespace isthmus
