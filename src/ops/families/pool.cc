// Pools: the greatest or the average of each window.
#include "ops/families/pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/demands.h"
#include "ops/families.h"

namespace isthmus {
namespace {

Window window_of(const Ints& kernel, const Ints& stride, const Ints& padding, const Ints& dilation, std::size_t axis) {
  return {kernel[axis], stride[axis], padding[2 * axis], padding[2 * axis + 1], dilation.empty() ? 1 : dilation[axis]};
}

Expected<void> demand_window(const Ints& kernel, const Ints& stride, const Ints& padding, std::size_t spatial) {
  TRY(demand_list(kernel, spatial, 1, "kernel"));
  TRY(demand_list(stride, spatial, 1, "stride"));
  TRY(demand_list(padding, 2 * spatial, 0, "padding"));
  for (std::size_t i = 0; i < padding.size(); ++i) {
    // More would make windows that hold nothing but padding.
    if (padding[i] > kernel[i / 2] / 2) {
      return bad_input(fmt::format("padding {} is more than half of kernel {}", padding[i], kernel[i / 2]));
    }
  }
  return {};
}

Expected<Shape> pooled(Exprs& exprs, const Shape& input, const Ints& kernel, const Ints& stride, const Ints& padding,
                       const Ints& dilation, bool ceil_mode) {
  Shape result{input[0], input[1]};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Window window = window_of(kernel, stride, padding, dilation, i);
    const Dim size =
        ceil_mode ? window_count_ceil(exprs, input[i + 2], window) : window_count(exprs, input[i + 2], window);
    if (size.is_fixed() && size.value() < 1) {
      return bad_input(
          fmt::format("a window of size {} does not fit into size {}", window.kernel, exprs.text(input[i + 2])));
    }
    result.push_back(size);
  }
  return result;
}

Expected<TensorType> infer_max_pool(const InferContext& context, std::size_t spatial, bool is_position) {
  const auto& attrs = context.as<MaxPoolAttrs>();
  TRY(demand_numbers(context.inputs[0]));
  TRY(demand_rank(context.inputs[0], spatial + 2));
  TRY(demand_window(attrs.kernel, attrs.stride, attrs.padding, spatial));
  TRY(demand_list(attrs.dilation, spatial, 1, "dilation"));
  TensorType result{is_position ? DType::kI64 : context.inputs[0].dtype, {}};
  result.shape = TRY(pooled(context.exprs, context.inputs[0].shape, attrs.kernel, attrs.stride, attrs.padding,
                            attrs.dilation, attrs.ceil_mode));
  return result;
}
Expected<TensorType> infer_max_pool2d(const InferContext& context) { return infer_max_pool(context, 2, false); }
Expected<TensorType> infer_max_pool2d_indices(const InferContext& context) { return infer_max_pool(context, 2, true); }
Expected<TensorType> infer_max_pool3d(const InferContext& context) { return infer_max_pool(context, 3, false); }
Expected<TensorType> infer_max_pool3d_indices(const InferContext& context) { return infer_max_pool(context, 3, true); }

Expected<TensorType> infer_avg_pool(const InferContext& context, std::size_t spatial) {
  const auto& attrs = context.as<AvgPoolAttrs>();
  TRY(demand_summable(context.inputs[0]));
  TRY(demand_rank(context.inputs[0], spatial + 2));
  TRY(demand_window(attrs.kernel, attrs.stride, attrs.padding, spatial));
  TRY(demand_list({attrs.divisor}, 1, 0, "divisor"));
  return TensorType{context.inputs[0].dtype, TRY(pooled(context.exprs, context.inputs[0].shape, attrs.kernel,
                                                        attrs.stride, attrs.padding, {}, attrs.ceil_mode))};
}
Expected<TensorType> infer_avg_pool2d(const InferContext& context) { return infer_avg_pool(context, 2); }
Expected<TensorType> infer_avg_pool3d(const InferContext& context) { return infer_avg_pool(context, 3); }

Expected<TensorType> infer_adaptive(const InferContext& context, bool is_position) {
  const Dims& size = context.as<SizeAttrs>().size;
  const TensorType& input = context.inputs[0];
  TRY(demand_summable(input));
  TRY(demand_rank(input, 4));
  if (size.size() != 2) return bad_input(fmt::format("{} sizes, expected 2", size.size()));
  TensorType result{is_position ? DType::kI64 : input.dtype, {input.shape[0], input.shape[1]}};
  for (std::size_t i = 0; i < 2; ++i) {
    if (size[i].is_fixed() && size[i].value() < 0)
      return bad_input(fmt::format("size {} is out of range", size[i].value()));
    if (input.shape[i + 2].is(0)) return bad_input("the pool has an empty input");
    result.shape.push_back(size[i]);
  }
  return result;
}
Expected<TensorType> infer_adaptive_pool(const InferContext& context) { return infer_adaptive(context, false); }
Expected<TensorType> infer_adaptive_indices(const InferContext& context) { return infer_adaptive(context, true); }

Expected<Ints> per_axis(Call& call, std::string_view name, const PoolInput& input, const Ints& otherwise) {
  Ints list = TRY(call.integers(name, otherwise));
  if (list.empty()) list = otherwise;
  if (list.size() == 1) list.resize(input.spatial, list[0]);
  if (list.size() != input.spatial) {
    return bad_input(fmt::format("{}: {} has {} values, expected {}", call.target(), name, list.size(), input.spatial));
  }
  return list;
}

// Puts the numbers of the axis that a pool over one axis lacks in front.
void lift(const PoolInput& input, Ints& list, std::int64_t number) {
  if (list.size() < input.axes()) list.insert(list.begin(), number);
}

Ints on_both_sides(const Ints& padding) {
  Ints result;
  for (const std::int64_t pad : padding) result.insert(result.end(), 2, pad);
  return result;
}

// Where both ways of counting windows agree, the plain one is written.
Expected<bool> needs_ceil(Call& call, ValueId input, const Ints& kernel, const Ints& stride, const Ints& padding,
                          const Ints& dilation) {
  TRY(demand_window(kernel, stride, padding, kernel.size()));
  if (!dilation.empty()) TRY(demand_list(dilation, kernel.size(), 1, "dilation"));
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const Window window = window_of(kernel, stride, padding, dilation, i);
    const Dim size = call.shape(input)[i + 2];
    if (window_count(call.exprs(), size, window) != window_count_ceil(call.exprs(), size, window)) return true;
  }
  return false;
}

struct MaxPool {
  PoolInput input;
  MaxPoolAttrs attrs;
};

Expected<MaxPool> read_max_attrs(Call& call, std::size_t spatial) {
  const PoolInput input = TRY(pool_input(call, spatial));
  MaxPoolAttrs attrs;
  attrs.kernel = TRY(per_axis(call, "kernel_size", input, {}));
  attrs.stride = TRY(per_axis(call, "stride", input, attrs.kernel));
  attrs.padding = TRY(per_axis(call, "padding", input, {0}));
  attrs.dilation = TRY(per_axis(call, "dilation", input, {1}));
  lift(input, attrs.kernel, 1);
  lift(input, attrs.stride, 1);
  lift(input, attrs.padding, 0);
  lift(input, attrs.dilation, 1);
  attrs.padding = on_both_sides(attrs.padding);
  attrs.ceil_mode = TRY(call.flag("ceil_mode", false)) &&
                    TRY(needs_ceil(call, input.value, attrs.kernel, attrs.stride, attrs.padding, attrs.dilation));
  return MaxPool{input, std::move(attrs)};
}

Expected<ValueId> emit_max(Call& call, const MaxPool& pool, Op op) {
  return pool_result(call, pool.input, TRY(call.emit(op, pool.attrs, {pool.input.value})));
}

Expected<Values> read_max(Call& call, std::size_t spatial) {
  const MaxPool pool = TRY(read_max_attrs(call, spatial));
  return one(emit_max(call, pool, spatial == 3 ? Op::kMaxPool3d : Op::kMaxPool2d));
}
Expected<Values> read_max_pool1d(Call& call) { return read_max(call, 1); }
Expected<Values> read_max_pool2d(Call& call) { return read_max(call, 2); }
Expected<Values> read_max_pool3d(Call& call) { return read_max(call, 3); }

Expected<Values> read_max_with_indices(Call& call, std::size_t spatial) {
  const MaxPool pool = TRY(read_max_attrs(call, spatial));
  const ValueId greatest = TRY(emit_max(call, pool, spatial == 3 ? Op::kMaxPool3d : Op::kMaxPool2d));
  return Values{greatest, TRY(emit_max(call, pool, spatial == 3 ? Op::kMaxPool3dIndices : Op::kMaxPool2dIndices))};
}
Expected<Values> read_max_pool1d_with_indices(Call& call) { return read_max_with_indices(call, 1); }
Expected<Values> read_max_pool2d_with_indices(Call& call) { return read_max_with_indices(call, 2); }
Expected<Values> read_max_pool3d_with_indices(Call& call) { return read_max_with_indices(call, 3); }

Expected<Values> read_avg(Call& call, std::size_t spatial) {
  const PoolInput input = TRY(pool_input(call, spatial));
  AvgPoolAttrs attrs;
  attrs.kernel = TRY(per_axis(call, "kernel_size", input, {}));
  attrs.stride = TRY(per_axis(call, "stride", input, attrs.kernel));
  attrs.padding = TRY(per_axis(call, "padding", input, {0}));
  lift(input, attrs.kernel, 1);
  lift(input, attrs.stride, 1);
  lift(input, attrs.padding, 0);
  attrs.padding = on_both_sides(attrs.padding);
  attrs.ceil_mode = TRY(call.flag("ceil_mode", false)) &&
                    TRY(needs_ceil(call, input.value, attrs.kernel, attrs.stride, attrs.padding, {}));
  const bool has_padding = std::ranges::any_of(attrs.padding, [](std::int64_t pad) { return pad != 0; });
  attrs.divisor = TRY(call.integer("divisor_override", 0));
  if (call.has("divisor_override") && attrs.divisor == 0) return bad_input(call.target() + ": the divisor is 0");
  const bool is_counted = TRY(call.flag("count_include_pad", true));
  attrs.count_include_pad = is_counted || !has_padding || attrs.divisor != 0;
  const Op op = spatial == 3 ? Op::kAvgPool3d : Op::kAvgPool2d;
  return one(pool_result(call, input, TRY(call.emit(op, std::move(attrs), {input.value}))));
}
Expected<Values> read_avg_pool1d(Call& call) { return read_avg(call, 1); }
Expected<Values> read_avg_pool2d(Call& call) { return read_avg(call, 2); }
Expected<Values> read_avg_pool3d(Call& call) { return read_avg(call, 3); }

}  // namespace

Expected<PoolInput> pool_input(Call& call, std::size_t spatial) {
  PoolInput input{TRY(call.tensor("self")), spatial, false};
  Shape shape = call.shape(input.value);
  input.is_unbatched = shape.size() == spatial + 1;
  if (input.is_unbatched) shape.insert(shape.begin(), Dim(1));
  if (shape.size() != spatial + 2) {
    return bad_input(fmt::format("{}: unsupported input of rank {}", call.target(), call.rank(input.value)));
  }
  if (spatial == 1) shape.insert(shape.begin() + 2, Dim(1));
  input.value = TRY(call.reshape(input.value, std::move(shape)));
  return input;
}

Expected<ValueId> pool_result(Call& call, const PoolInput& input, ValueId result) {
  Shape shape = call.shape(result);
  if (input.spatial == 1) shape.erase(shape.begin() + 2);
  if (input.is_unbatched) shape.erase(shape.begin());
  return call.reshape(result, std::move(shape));
}

Family pool_family() {
  static const std::vector<Role> kRoles = {Role::kData};
  static const OpDef kOps[] = {
      homogeneous({.op = Op::kMaxPool2d,
                   .flow = QFlow::kNarrowsRange,
                   .roles = kRoles,
                   .infer = infer_max_pool2d,
                   .spellings = {{"aten.max_pool2d", read_max_pool2d}, {"aten.max_pool1d", read_max_pool1d}}}),
      {.op = Op::kMaxPool2dIndices, .flow = QFlow::kComputes, .roles = kRoles, .infer = infer_max_pool2d_indices},
      {.op = Op::kMaxPool3d,
       .flow = QFlow::kNarrowsRange,
       .roles = kRoles,
       .infer = infer_max_pool3d,
       .spellings = {{"aten.max_pool3d", read_max_pool3d}}},
      {.op = Op::kMaxPool3dIndices, .flow = QFlow::kComputes, .roles = kRoles, .infer = infer_max_pool3d_indices},
      homogeneous({.op = Op::kAvgPool2d,
                   .flow = QFlow::kComputes,
                   .roles = kRoles,
                   .infer = infer_avg_pool2d,
                   .spellings = {{"aten.avg_pool2d", read_avg_pool2d}, {"aten.avg_pool1d", read_avg_pool1d}}}),
      {.op = Op::kAvgPool3d,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_avg_pool3d,
       .spellings = {{"aten.avg_pool3d", read_avg_pool3d}}},
      {.op = Op::kAdaptiveAvgPool2d,
       .flow = QFlow::kComputes,
       .roles = kRoles,
       .infer = infer_adaptive_pool,
       .spellings = {{"aten.adaptive_avg_pool2d", read_adaptive_avg_pool2d},
                     {"aten._adaptive_avg_pool2d", read_adaptive_avg_pool2d},
                     {"aten.adaptive_avg_pool1d", read_adaptive_avg_pool1d}}},
      {.op = Op::kAdaptiveMaxPool2d, .flow = QFlow::kNarrowsRange, .roles = kRoles, .infer = infer_adaptive_pool},
      {.op = Op::kAdaptiveMaxPool2dIndices, .flow = QFlow::kComputes, .roles = kRoles, .infer = infer_adaptive_indices},
  };
  static const Spelling kCompounds[] = {
      {"aten.max_pool1d_with_indices", read_max_pool1d_with_indices},
      {"aten.max_pool2d_with_indices", read_max_pool2d_with_indices},
      {"aten.max_pool3d_with_indices", read_max_pool3d_with_indices},
      {"aten.adaptive_avg_pool3d", read_adaptive_avg_pool3d},
      {"aten._adaptive_avg_pool3d", read_adaptive_avg_pool3d},
      {"aten.adaptive_max_pool1d", read_adaptive_max_pool1d},
      {"aten.adaptive_max_pool2d", read_adaptive_max_pool2d},
      {"aten.adaptive_max_pool3d", read_adaptive_max_pool3d},
  };
  return {"pool", kOps, kCompounds};
}

}  // namespace isthmus
