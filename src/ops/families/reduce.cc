// Reductions over axes: sums, extremes, counts, positions.
#include "ops/families/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

TensorType reduced(const TensorType& input, const Ints& axes, bool keepdim) {
  TensorType result{input.dtype, {}};
  for (std::size_t i = 0; i < input.rank(); ++i) {
    const bool is_reduced = std::ranges::binary_search(axes, static_cast<std::int64_t>(i));
    if (!is_reduced) result.shape.push_back(input.shape[i]);
    if (is_reduced && keepdim) result.shape.emplace_back(1);
  }
  return result;
}

template <class Attributes>
Expected<TensorType> infer_reduced(const InferContext& context) {
  const auto& attrs = context.as<Attributes>();
  TRY(demand_axes(attrs.axes, context.inputs[0].rank()));
  return reduced(context.inputs[0], attrs.axes, attrs.keepdim);
}

Expected<TensorType> infer_sum(const InferContext& context) {
  TRY(demand_summable(context.inputs[0]));
  return infer_reduced<ReduceAttrs>(context);
}

Expected<TensorType> infer_mean(const InferContext& context) {
  TRY(demand_floats(context.inputs[0]));
  return infer_reduced<ReduceAttrs>(context);
}

Expected<void> demand_something(const TensorType& input, const Ints& axes) {
  for (const std::int64_t axis : axes) {
    if (input.shape[static_cast<std::size_t>(axis)].is(0))
      return bad_input("the maximum or minimum of an empty tensor is undefined");
  }
  return {};
}

Expected<TensorType> infer_extreme(const InferContext& context) {
  TRY(demand_numbers(context.inputs[0]));
  const TensorType result = TRY(infer_reduced<ReduceAttrs>(context));
  TRY(demand_something(context.inputs[0], context.as<ReduceAttrs>().axes));
  return result;
}

Expected<TensorType> infer_position(const InferContext& context) {
  TRY(demand_numbers(context.inputs[0]));
  TensorType result = TRY(infer_reduced<ReduceAttrs>(context));
  const Ints& axes = context.as<ReduceAttrs>().axes;
  if (axes.size() != 1) return bad_input(fmt::format("argmax and argmin along {} axes, expected one", axes.size()));
  TRY(demand_something(context.inputs[0], axes));
  result.dtype = DType::kI64;
  return result;
}

Expected<TensorType> infer_bool(const InferContext& context) {
  TRY(demand_numbers(context.inputs[0]));
  TensorType result = TRY(infer_reduced<ReduceAttrs>(context));
  result.dtype = DType::kBool;
  return result;
}

Expected<TensorType> infer_variance(const InferContext& context) {
  TRY(demand_floats(context.inputs[0]));
  return infer_reduced<VarianceAttrs>(context);
}

Expected<TensorType> infer_vector_norm(const InferContext& context) {
  TRY(demand_floats(context.inputs[0]));
  return infer_reduced<VectorNormAttrs>(context);
}

// Integers and bools are summed as i64.
DType dtype_of_sum(DType dtype) { return is_floating(dtype) || is_complex(dtype) ? dtype : DType::kI64; }

Expected<ValueId> summand(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  return call.cast(self, TRY(call.dtype("dtype", dtype_of_sum(call.type(self).dtype))));
}

Expected<Values> read_sum_like(Call& call, Op op, ValueId value) {
  return one(reduce(call, op, value, TRY(axes_to_reduce(call, value)), TRY(call.flag("keepdim", false))));
}

Expected<Values> read_sum(Call& call) { return read_sum_like(call, Op::kSum, TRY(summand(call))); }
Expected<Values> read_prod(Call& call) { return read_sum_like(call, Op::kProd, TRY(summand(call))); }

Expected<Values> read_mean(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId value = TRY(call.cast(self, TRY(call.dtype("dtype", call.type(self).dtype))));
  return read_sum_like(call, Op::kMean, value);
}

ValueId zero_like(Call& call, ValueId value) { return call.scalar(0.0, call.type(value).dtype); }

// NaN counts as nothing.
Expected<ValueId> without_nan(Call& call, ValueId value) {
  if (!is_floating(call.type(value).dtype)) return value;
  const ValueId is_nan = TRY(call.unary(Op::kIsNan, value));
  return call.emit(Op::kWhere, NoAttrs{}, {is_nan, zero_like(call, value), value});
}

Expected<Values> read_nansum(Call& call) {
  return read_sum_like(call, Op::kSum, TRY(without_nan(call, TRY(summand(call)))));
}

Expected<Values> read_nanmean(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId value = TRY(call.cast(self, TRY(call.dtype("dtype", call.type(self).dtype))));
  TRY(demand_floats(call.type(value)));
  const Ints axes = TRY(axes_to_reduce(call, value));
  const bool keepdim = TRY(call.flag("keepdim", false));
  const ValueId sum = TRY(reduce(call, Op::kSum, TRY(without_nan(call, value)), axes, keepdim));
  const ValueId is_number = TRY(call.unary(Op::kLogicalNot, TRY(call.unary(Op::kIsNan, value))));
  const ValueId numbers = TRY(call.cast(is_number, call.type(value).dtype));
  return one(call.binary(Op::kDiv, sum, TRY(reduce(call, Op::kSum, numbers, axes, keepdim))));
}

Expected<Values> read_extreme(Call& call, Op op) {
  const ValueId self = TRY(call.tensor("self"));
  return one(reduce(call, op, self, TRY(axes_to_reduce(call, self)), TRY(call.flag("keepdim", false))));
}
Expected<Values> read_amax(Call& call) { return read_extreme(call, Op::kAmax); }
Expected<Values> read_amin(Call& call) { return read_extreme(call, Op::kAmin); }

Expected<Values> read_aminmax(Call& call) {
  const Values min = TRY(read_extreme(call, Op::kAmin));
  const Values max = TRY(read_extreme(call, Op::kAmax));
  return Values{min[0], max[0]};
}

// Values and positions along one axis.
Expected<Values> read_extreme_dim(Call& call, Op value_op, Op position_op) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  const bool keepdim = TRY(call.flag("keepdim", false));
  const ValueId value = TRY(reduce(call, value_op, self, call.rank(self) == 0 ? Ints{} : Ints{axis}, keepdim));
  return Values{value, TRY(position(call, position_op, self, axis, keepdim))};
}
Expected<Values> read_max_dim(Call& call) { return read_extreme_dim(call, Op::kAmax, Op::kArgmax); }
Expected<Values> read_min_dim(Call& call) { return read_extreme_dim(call, Op::kAmin, Op::kArgmin); }

// Without an axis it is the position among all elements in row-major order.
Expected<Values> read_position(Call& call, Op op) {
  const ValueId self = TRY(call.tensor("self"));
  const bool keepdim = TRY(call.flag("keepdim", false));
  if (call.has("dim")) return one(position(call, op, self, TRY(call.axis("dim", call.rank(self))), keepdim));
  const ValueId flat = TRY(call.reshape(self, {call.exprs().product(call.shape(self))}));
  const ValueId result = TRY(position(call, op, flat, 0, false));
  return one(call.reshape(result, keepdim ? Shape(call.shape(self).size(), Dim(1)) : Shape{}));
}
Expected<Values> read_argmax(Call& call) { return read_position(call, Op::kArgmax); }
Expected<Values> read_argmin(Call& call) { return read_position(call, Op::kArgmin); }

// PyTorch answers bytes with bytes.
Expected<Values> read_bool(Call& call, Op op) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId result = TRY(reduce(call, op, self, TRY(axes_to_reduce(call, self)), TRY(call.flag("keepdim", false))));
  return one(call.cast(result, call.type(self).dtype == DType::kU8 ? DType::kU8 : DType::kBool));
}
Expected<Values> read_any(Call& call) { return read_bool(call, Op::kAny); }
Expected<Values> read_all(Call& call) { return read_bool(call, Op::kAll); }

Expected<Values> read_count_nonzero(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const ValueId is_counted = TRY(call.binary(Op::kNe, self, zero_like(call, self)));
  const ValueId ones = TRY(call.cast(is_counted, DType::kI64));
  return one(reduce(call, Op::kSum, ones, TRY(axes_to_reduce(call, self)), false));
}

Expected<Values> read_logsumexp(Call& call) {
  ValueId self = TRY(call.tensor("self"));
  if (!is_floating(call.type(self).dtype)) self = TRY(call.cast(self, DType::kF32));
  return one(reduce(call, Op::kLogsumexp, self, TRY(axes_to_reduce(call, self)), TRY(call.flag("keepdim", false))));
}

Expected<Values> read_trace(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.rank(self) != 2) return bad_input(call.target() + ": the input is not a matrix");
  const Dim rows = call.size(self, 0);
  const Dim columns = call.size(self, 1);
  if (!rows.is_fixed() || !columns.is_fixed()) return Call::unsupported("trace needs a static size");
  const std::int64_t length = std::min(rows.value(), columns.value());
  TRY(demand_list({rows.value(), columns.value()}, 2, 0, "sizes"));
  const ValueId square = TRY(call.slice(self, 0, 0, length));
  const ValueId flat = TRY(call.reshape(square, {length * columns.value()}));
  const ValueId diagonal = TRY(call.slice(flat, 0, 0, length * columns.value(), columns.value() + 1));
  return one(reduce(call, Op::kSum, TRY(call.cast(diagonal, dtype_of_sum(call.type(self).dtype))), {0}, false));
}

}  // namespace

Expected<Ints> axes_to_reduce(const Call& call, ValueId value, std::string_view name) {
  return normal_axes(TRY(call.integers(name, Ints{})), call.rank(value), true);
}

Expected<ValueId> reduce(Call& call, Op op, ValueId value, Ints axes, bool keepdim) {
  const bool keeps_numbers = op != Op::kAny && op != Op::kAll;
  if (axes.empty() && keeps_numbers) return value;
  return call.emit(op, ReduceAttrs{std::move(axes), keepdim}, {value});
}

Expected<ValueId> position(Call& call, Op op, ValueId value, std::int64_t axis, bool keepdim) {
  if (call.rank(value) > 0) return call.emit(op, ReduceAttrs{{axis}, keepdim}, {value});
  const ValueId row = TRY(call.reshape(value, {1}));
  return call.emit(op, ReduceAttrs{{0}, false}, {row});
}

Family reduce_family() {
  static const std::vector<Role> kRoles = {Role::kData};
  static const OpDef kOps[] = {
      {.op = Op::kSum,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_sum,
       .spellings = {{"aten.sum", read_sum}},
       .noise = NoiseFlow::kSums},
      {.op = Op::kMean,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_mean,
       .spellings = {{"aten.mean", read_mean}},
       .noise = NoiseFlow::kAverages},
      {.op = Op::kProd,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_sum,
       .spellings = {{"aten.prod", read_prod}}},
      {.op = Op::kAmax,
       .flow = QFlow::kNarrowsRange,
       .roles = kRoles,
       .infer = infer_extreme,
       .spellings = {{"aten.amax", read_amax}, {"aten.max.default", read_amax}}},
      {.op = Op::kAmin,
       .flow = QFlow::kNarrowsRange,
       .roles = kRoles,
       .infer = infer_extreme,
       .spellings = {{"aten.amin", read_amin}, {"aten.min.default", read_amin}}},
      {.op = Op::kAny,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_bool,
       .spellings = {{"aten.any", read_any}}},
      {.op = Op::kAll,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_bool,
       .spellings = {{"aten.all", read_all}}},
      {.op = Op::kArgmax,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_position,
       .spellings = {{"aten.argmax", read_argmax}}},
      {.op = Op::kArgmin,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_position,
       .spellings = {{"aten.argmin", read_argmin}}},
      {.op = Op::kVariance,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_variance,
       .spellings = {{"aten.var", read_var}}},
      {.op = Op::kVectorNorm,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_vector_norm,
       .spellings = {{"aten.linalg_vector_norm", read_vector_norm}, {"aten.norm", read_norm}}},
      {.op = Op::kLogsumexp,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_mean,
       .spellings = {{"aten.logsumexp", read_logsumexp}, {"aten.special_logsumexp", read_logsumexp}}},
  };
  static const Spelling kCompounds[] = {
      {"aten.max.dim", read_max_dim},
      {"aten.min.dim", read_min_dim},
      {"aten.aminmax", read_aminmax},
      {"aten._aminmax", read_aminmax},
      {"aten.std", read_std},
      {"aten.var_mean", read_var_mean},
      {"aten.std_mean", read_std_mean},
      {"aten.count_nonzero", read_count_nonzero},
      {"aten.nansum", read_nansum},
      {"aten.nanmean", read_nanmean},
      {"aten.trace", read_trace},
      {"aten.linalg_norm", read_linalg_norm},
      {"aten.linalg_matrix_norm", read_matrix_norm},
      {"aten.frobenius_norm", read_matrix_norm},
      {"aten.cosine_similarity", read_cosine_similarity},
      {"aten.pairwise_distance", read_pairwise_distance},
      {"aten.dist", read_dist},
      {"aten.cdist", read_cdist},
      {"aten._cdist_forward", read_cdist},
      {"aten.norm_except_dim", read_norm_except_dim},
      {"aten._weight_norm", read_weight_norm},
      {"aten._weight_norm_interface", read_weight_norm_interface},
  };
  return {"reduce", kOps, kCompounds};
}

}  // namespace isthmus
