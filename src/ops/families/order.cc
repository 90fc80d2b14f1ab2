// What runs along one axis: softmax, running sums, sorting and what is read off a sorted axis.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ops/call.h"
#include "ops/demands.h"
#include "ops/families.h"
#include "ops/families/reduce.h"

namespace isthmus {
namespace {

Expected<void> demand_axis(const TensorType& input, std::int64_t axis) { return demand_axes({axis}, input.rank()); }

Expected<TensorType> infer_softmax(const InferContext& context) {
  TRY(demand_floats(context.inputs[0]));
  TRY(demand_axis(context.inputs[0], context.as<AxisAttrs>().axis));
  return context.inputs[0];
}

Expected<TensorType> infer_running(const InferContext& context) {
  TRY(demand_summable(context.inputs[0]));
  TRY(demand_axis(context.inputs[0], context.as<AxisAttrs>().axis));
  return context.inputs[0];
}

Expected<TensorType> infer_sort(const InferContext& context) {
  TRY(demand_numbers(context.inputs[0]));
  TRY(demand_axis(context.inputs[0], context.as<SortAttrs>().axis));
  return context.inputs[0];
}

Expected<TensorType> infer_argsort(const InferContext& context) {
  TensorType result = TRY(infer_sort(context));
  result.dtype = DType::kI64;
  return result;
}

// A 0-d tensor is treated as a row of one number.
template <class Attributes>
Expected<ValueId> along_axis(Call& call, Op op, ValueId value, Attributes attrs) {
  if (call.rank(value) > 0) return call.emit(op, std::move(attrs), {value});
  const ValueId row = TRY(call.emit(op, std::move(attrs), {TRY(call.reshape(value, {1}))}));
  return call.reshape(row, {});
}

Expected<Values> read_softmax_like(Call& call, Op op) {
  ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  const bool is_widened = TRY(call.flag("half_to_float", false));
  self = TRY(call.cast(self, TRY(call.dtype("dtype", is_widened ? DType::kF32 : call.type(self).dtype))));
  return one(along_axis(call, op, self, AxisAttrs{axis}));
}
Expected<Values> read_softmax(Call& call) { return read_softmax_like(call, Op::kSoftmax); }
Expected<Values> read_log_softmax(Call& call) { return read_softmax_like(call, Op::kLogSoftmax); }

// Rows of nothing but -inf become zeros here, where softmax would give NaN.
Expected<Values> read_safe_softmax(Call& call) {
  ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  self = TRY(call.cast(self, TRY(call.dtype("dtype", call.type(self).dtype))));
  const DType dtype = call.type(self).dtype;
  const ValueId result = TRY(along_axis(call, Op::kSoftmax, self, AxisAttrs{axis}));
  const ValueId lowest = call.scalar(-std::numeric_limits<double>::infinity(), dtype);
  const ValueId is_masked = TRY(call.binary(Op::kEq, self, lowest));
  const ValueId is_all = TRY(reduce(call, Op::kAll, is_masked, call.rank(self) == 0 ? Ints{} : Ints{axis}, true));
  return one(call.emit(Op::kWhere, NoAttrs{}, {is_all, call.scalar(0.0, dtype), result}));
}

Expected<Values> read_running(Call& call, Op op) {
  const ValueId self = TRY(call.tensor("self"));
  const DType own = call.type(self).dtype;
  const DType wanted = TRY(call.dtype("dtype", is_floating(own) || is_complex(own) ? own : DType::kI64));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self)));
  return one(along_axis(call, op, TRY(call.cast(self, wanted)), AxisAttrs{axis}));
}
Expected<Values> read_cumsum(Call& call) { return read_running(call, Op::kCumsum); }
Expected<Values> read_cumprod(Call& call) { return read_running(call, Op::kCumprod); }

// What lies in front of the axis and behind it is joined to it first.
Expected<Values> read_diff(Call& call) {
  ValueId value = TRY(call.tensor("self"));
  if (call.rank(value) == 0) return bad_input(call.target() + ": diff needs at least one dimension");
  const std::int64_t axis = TRY(call.axis("dim", call.rank(value), -1));
  Values parts{value};
  if (const auto before = call.tensor_if("prepend")) parts.insert(parts.begin(), *before);
  if (const auto after = call.tensor_if("append")) parts.push_back(*after);
  if (parts.size() > 1) value = TRY(call.cat(std::move(parts), axis));
  const Op difference = call.type(value).dtype == DType::kBool ? Op::kLogicalXor : Op::kSub;
  const std::int64_t order = TRY(call.integer("n", 1));
  if (order < 0) return bad_input(fmt::format("{}: unsupported order {}", call.target(), order));
  for (std::int64_t i = 0; i < order; ++i) {
    const Dim size = call.size(value, axis);
    if (size == Dim(0)) break;
    const Dim last = call.exprs().subtract(size, 1);
    const ValueId next = TRY(call.slice(value, axis, 1, size));
    value = TRY(call.binary(difference, next, TRY(call.slice(value, axis, 0, last))));
  }
  return Values{value};
}

Expected<Values> sorted(Call& call, ValueId self, SortAttrs attrs) {
  return Values{TRY(along_axis(call, Op::kSort, self, attrs)), TRY(along_axis(call, Op::kArgsort, self, attrs))};
}

Expected<Values> read_sort(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), -1));
  return sorted(call, self, {axis, TRY(call.flag("descending", false))});
}

Expected<Values> read_argsort(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), -1));
  return one(along_axis(call, Op::kArgsort, self, SortAttrs{axis, TRY(call.flag("descending", false))}));
}

Expected<Values> read_msort(Call& call) {
  return one(along_axis(call, Op::kSort, TRY(call.tensor("self")), SortAttrs{0, false}));
}

// The argument "k", a number of elements of the axis.
Expected<Dim> read_count(Call& call, ValueId self, std::int64_t axis, std::int64_t min) {
  const Dim count = TRY(call.dim("k"));
  const Dim size = call.rank(self) == 0 ? Dim(1) : call.size(self, axis);
  const bool is_too_many = count.is_fixed() && size.is_fixed() && count.value() > size.value();
  if ((count.is_fixed() && count.value() < min) || is_too_many) {
    return bad_input(
        fmt::format("{}: {} of {} elements", call.target(), call.exprs().text(count), call.exprs().text(size)));
  }
  return count;
}

Expected<Values> read_topk(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), -1));
  const Dim count = TRY(read_count(call, self, axis, 0));
  Values results = TRY(sorted(call, self, {axis, TRY(call.flag("largest", true))}));
  if (call.rank(self) == 0) return results;
  for (ValueId& result : results) result = TRY(call.slice(result, axis, 0, count));
  return results;
}

Expected<ValueId> pick(Call& call, ValueId value, std::int64_t axis, Dim place, bool keepdim) {
  const ValueId slice = TRY(call.slice(value, axis, place, call.exprs().add(place, 1)));
  Shape shape = call.shape(slice);
  if (!keepdim) shape.erase(shape.begin() + axis);
  return call.reshape(slice, std::move(shape));
}

Expected<Values> read_kthvalue(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const std::int64_t axis = TRY(call.axis("dim", call.rank(self), -1));
  const Dim place = call.exprs().add(TRY(read_count(call, self, axis, 1)), -1);
  Values results = TRY(sorted(call, self, {axis, false}));
  if (call.rank(self) == 0) return results;
  const bool keepdim = TRY(call.flag("keepdim", false));
  for (ValueId& result : results) result = TRY(pick(call, result, axis, place, keepdim));
  return results;
}

// The lower of two middle numbers; NaN where there is any, which sorting has put last.
Expected<Values> median(Call& call, ValueId self, std::int64_t axis, bool keepdim) {
  const Dim size = call.size(self, axis);
  if (size.is(0)) return bad_input(call.target() + ": the median of an empty tensor is undefined");
  const Dim middle = call.exprs().floor_divide(call.exprs().add(size, -1), 2);
  Values results = TRY(sorted(call, self, {axis, false}));
  for (ValueId& result : results) result = TRY(pick(call, result, axis, middle, keepdim));
  if (!is_floating(call.type(self).dtype)) return results;
  const ValueId has_nan = TRY(reduce(call, Op::kAny, TRY(call.unary(Op::kIsNan, self)), {axis}, keepdim));
  const ValueId nan = call.scalar(std::numeric_limits<double>::quiet_NaN(), call.type(self).dtype);
  const ValueId first_nan = TRY(position(call, Op::kArgmax, self, axis, keepdim));
  results[0] = TRY(call.emit(Op::kWhere, NoAttrs{}, {has_nan, nan, results[0]}));
  results[1] = TRY(call.emit(Op::kWhere, NoAttrs{}, {has_nan, first_nan, results[1]}));
  return results;
}

// The median of what is not NaN: how many those are says where it stands in the sorted row.
Expected<Values> nanmedian(Call& call, ValueId self, std::int64_t axis, bool keepdim) {
  if (!is_floating(call.type(self).dtype)) return median(call, self, axis, keepdim);
  Values results = TRY(sorted(call, self, {axis, false}));
  const ValueId is_nan = TRY(call.unary(Op::kIsNan, self));
  const ValueId is_number = TRY(call.cast(TRY(call.unary(Op::kLogicalNot, is_nan)), DType::kI64));
  const ValueId count = TRY(reduce(call, Op::kSum, is_number, {axis}, true));
  const ValueId last = TRY(call.binary(Op::kSub, count, call.scalar(std::int64_t{1}, DType::kI64)));
  const ValueId half = TRY(call.binary(Op::kFloorDiv, last, call.scalar(std::int64_t{2}, DType::kI64)));
  const ValueId place = TRY(call.binary(Op::kMaximum, half, call.scalar(std::int64_t{0}, DType::kI64)));
  for (ValueId& result : results) {
    result = TRY(call.emit(Op::kGather, AxisAttrs{axis}, {result, place}));
    Shape shape = call.shape(result);
    if (!keepdim) shape.erase(shape.begin() + axis);
    result = TRY(call.reshape(result, std::move(shape)));
  }
  return results;
}

using Middle = Expected<Values> (*)(Call&, ValueId, std::int64_t, bool);

// Without an axis: of all elements, and without the position.
Expected<Values> read_middle(Call& call, Middle middle) {
  const ValueId self = TRY(call.tensor("self"));
  if (call.has("dim") && call.rank(self) > 0) {
    return middle(call, self, TRY(call.axis("dim", call.rank(self))), TRY(call.flag("keepdim", false)));
  }
  const ValueId flat = TRY(call.reshape(self, {call.exprs().product(call.shape(self))}));
  Values results = TRY(middle(call, flat, 0, false));
  if (!call.has("dim")) results.pop_back();
  return results;
}
Expected<Values> read_median(Call& call) { return read_middle(call, median); }
Expected<Values> read_nanmedian(Call& call) { return read_middle(call, nanmedian); }

// The number below which a share q of a row lies, between the two that are nearest to that place.
Expected<ValueId> quantile(Call& call, ValueId row, std::int64_t axis, bool keepdim) {
  const Dim size = call.size(row, axis);
  const double share = TRY(call.number("q"));
  const std::string way = TRY(call.text("interpolation", "linear"));
  if (!(share >= 0 && share <= 1))
    return bad_input(fmt::format("{}: quantile {} is not between 0 and 1", call.target(), share));
  if (!size.is_fixed()) return Call::unsupported("quantile needs a static axis");
  if (size.value() < 1) return bad_input(call.target() + ": the quantile of an empty tensor is undefined");
  TRY(demand_floats(call.type(row)));
  const double place = share * static_cast<double>(size.value() - 1);
  double lower = std::floor(place);
  double upper = std::ceil(place);
  if (way == "lower") upper = lower;
  if (way == "higher") lower = upper;
  if (way == "nearest") lower = upper = std::nearbyint(place);
  const double part = lower == upper ? 0 : way == "midpoint" ? 0.5 : place - lower;
  const DType dtype = call.type(row).dtype;
  const ValueId in_order = TRY(call.emit(Op::kSort, SortAttrs{axis, false}, {row}));
  ValueId result = TRY(pick(call, in_order, axis, static_cast<std::int64_t>(lower), keepdim));
  if (part != 0) {
    const ValueId next = TRY(pick(call, in_order, axis, static_cast<std::int64_t>(upper), keepdim));
    const ValueId gap = TRY(call.binary(Op::kSub, next, result));
    result = TRY(call.binary(Op::kAdd, result, TRY(call.binary(Op::kMul, gap, call.scalar(part, dtype)))));
  }
  const ValueId has_nan = TRY(reduce(call, Op::kAny, TRY(call.unary(Op::kIsNan, row)), {axis}, keepdim));
  const ValueId nan = call.scalar(std::numeric_limits<double>::quiet_NaN(), dtype);
  return call.emit(Op::kWhere, NoAttrs{}, {has_nan, nan, result});
}

Expected<Values> read_quantile(Call& call) {
  const ValueId self = TRY(call.tensor("self"));
  const bool keepdim = TRY(call.flag("keepdim", false));
  if (call.has("dim") && call.rank(self) > 0) {
    return one(quantile(call, self, TRY(call.axis("dim", call.rank(self))), keepdim));
  }
  const ValueId flat = TRY(call.reshape(self, {call.exprs().product(call.shape(self))}));
  const ValueId result = TRY(quantile(call, flat, 0, false));
  return one(call.reshape(result, keepdim ? Shape(call.shape(self).size(), Dim(1)) : Shape{}));
}

}  // namespace

Family order_family() {
  static const std::vector<Role> kRoles = {Role::kData};
  static const OpDef kOps[] = {
      {.op = Op::kSoftmax,
       .flow = QFlow::kFixedRange,
       .roles = kRoles,
       .infer = infer_softmax,
       .spellings = {{"aten.softmax", read_softmax},
                     {"aten._softmax", read_softmax},
                     {"aten.special_softmax", read_softmax}},
       .range = FixedRange{0, 1},
       .noise = NoiseFlow::kShares},
      {.op = Op::kLogSoftmax,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_softmax,
       .spellings = {{"aten.log_softmax", read_log_softmax},
                     {"aten._log_softmax", read_log_softmax},
                     {"aten.special_log_softmax", read_log_softmax}}},
      {.op = Op::kCumsum,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_running,
       .spellings = {{"aten.cumsum", read_cumsum}}},
      {.op = Op::kCumprod,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_running,
       .spellings = {{"aten.cumprod", read_cumprod}}},
      {.op = Op::kSort,
       .flow = QFlow::kMovesData,
       .roles = kRoles,
       .infer = infer_sort,
       .spellings = {{"aten.msort", read_msort}}},
      {.op = Op::kArgsort,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_argsort,
       .spellings = {{"aten.argsort", read_argsort}}},
  };
  static const Spelling kCompounds[] = {
      {"aten._safe_softmax", read_safe_softmax}, {"aten.sort", read_sort},     {"aten.topk", read_topk},
      {"aten.kthvalue", read_kthvalue},          {"aten.median", read_median}, {"aten.nanmedian", read_nanmedian},
      {"aten.quantile.scalar", read_quantile},   {"aten.diff", read_diff},
  };
  return {"order", kOps, kCompounds};
}

}  // namespace isthmus
