// Kernels that reduce axes or run along one.
#include <algorithm>

#include "interpret/half.h"
#include "targets/host/family.h"
#include "targets/host/portable/kernels.h"

namespace isthmus::host {
namespace {

// To the kernels, no axes are all axes.
Expected<pte::ValueIndex> axes_of(NodeWriter& node, const Ints& axes) {
  if (axes.empty() && node.type(0).rank() > 0) return fail(ErrorKind::kUnsupported, "it reduces no axis");
  return node.integers(axes);
}

Expected<void> write_extreme(NodeWriter& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.boolean(attrs.keepdim)});
}

Expected<void> write_reduced(NodeWriter& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.boolean(attrs.keepdim), node.none()});
}

// All are true where none is false.
Expected<void> write_all(NodeWriter& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  const pte::ValueIndex opposite =
      TRY(node.step(names::kLogicalNot, {TRY(node.input(0))}, {DType::kBool, node.type(0).shape}));
  const pte::ValueIndex any =
      TRY(node.step(names::kAny, {opposite, TRY(axes_of(node, attrs.axes)), node.boolean(attrs.keepdim)},
                    {DType::kBool, node.result_type().shape}));
  return node.finish(names::kLogicalNot, {any});
}

// One axis after the other, the last one first: the numbers of those before it stay the same.
Expected<void> write_prod(NodeWriter& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  TensorType type = node.type(0);
  pte::ValueIndex value = TRY(node.input(0));
  for (std::size_t i = attrs.axes.size(); i-- > 0;) {
    const std::vector<pte::ValueIndex> args{value, node.integer(attrs.axes[i]), node.boolean(attrs.keepdim),
                                            node.none()};
    if (i == 0) return node.finish(args);
    if (attrs.keepdim) {
      type.shape[static_cast<std::size_t>(attrs.axes[i])] = Dim(1);
    } else {
      type.shape.erase(type.shape.begin() + attrs.axes[i]);
    }
    value = TRY(node.step(names::kProd, args, type));
  }
  return fail(ErrorKind::kUnsupported, "it reduces no axis");
}

Expected<void> write_position(NodeWriter& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), node.integer(attrs.axes[0]), node.boolean(attrs.keepdim)});
}

Expected<void> write_variance(NodeWriter& node) {
  const VarianceAttrs& attrs = node.as<VarianceAttrs>();
  return node.finish(
      {TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.real(attrs.correction), node.boolean(attrs.keepdim)});
}

// PyTorch keeps the sum of floats in a double, the kernel in an element of its result.
Expected<void> write_running_sum(NodeWriter& node) {
  const TensorType& type = node.result_type();
  const pte::ValueIndex axis = node.integer(node.as<AxisAttrs>().axis);
  if (type.dtype != DType::kF32) return node.finish({TRY(node.input(0)), axis, node.none()});
  const pte::ValueIndex sums =
      TRY(node.row_step({TRY(node.input(0)), axis, TRY(node.element_type(DType::kF64))}, {DType::kF64, type.shape}));
  return node.finish(names::kConvert, node.cast_arguments(sums, type.rank()));
}

Expected<void> write_softmax(NodeWriter& node) {
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), node.boolean(false)});
}

// All numbers of the axis are its greatest or smallest ones. The kernel brings equal numbers in any order.
struct Sorted {
  pte::ValueIndex numbers, positions;
};
Expected<Sorted> sorted(NodeWriter& node, pte::ValueIndex value, DType dtype, bool descending) {
  const std::int64_t axis = node.as<SortAttrs>().axis;
  const Shape& shape = node.type(0).shape;
  const Sorted result{TRY(node.scratch({dtype, shape})), TRY(node.scratch({DType::kI64, shape}))};
  const pte::ValueIndex count = TRY(node.size(shape[static_cast<std::size_t>(axis)]));
  node.finish({value, count, node.integer(axis), node.boolean(descending), node.boolean(true)},
              {result.numbers, result.positions});
  return result;
}

// Which numbers along the axis differ from the one before them; the first one does not.
Expected<pte::ValueIndex> is_new(NodeWriter& node, pte::ValueIndex numbers) {
  const auto axis = static_cast<std::size_t>(node.as<SortAttrs>().axis);
  const DType dtype = node.type(0).dtype;
  const Shape& shape = node.type(0).shape;
  Shape shorter = shape;
  shorter[axis] = node.exprs().add(shape[axis], -1);
  const TensorType mask_type{DType::kBool, shorter};
  const auto part = [&](pte::ValueIndex start, pte::ValueIndex end) {
    return node.step(names::kSlice,
                     {numbers, node.integer(static_cast<std::int64_t>(axis)), start, end, node.integer(1)},
                     {dtype, shorter});
  };
  const pte::ValueIndex before = TRY(part(node.integer(0), TRY(node.size(shorter[axis]))));
  const pte::ValueIndex after = TRY(part(node.integer(1), node.none()));
  pte::ValueIndex differs = TRY(node.step(names::kNe, {before, after}, mask_type));
  if (is_floating(dtype)) {
    const pte::ValueIndex nan = TRY(node.step(names::kIsNan, {before}, mask_type));
    const pte::ValueIndex nans =
        TRY(node.step(names::kLogicalAnd, {nan, TRY(node.step(names::kIsNan, {after}, mask_type))}, mask_type));
    differs = TRY(node.step(names::kLogicalXor, {differs, nans}, mask_type));
  }
  Ints sides(2 * (shape.size() - axis), 0);  // the last axis first
  sides[sides.size() - 2] = 1;
  return node.step(names::kConstantPad, {differs, node.integers(sides), node.boolean(false)}, {DType::kBool, shape});
}

Expected<void> write_sort(NodeWriter& node) {
  const SortAttrs& attrs = node.as<SortAttrs>();
  const pte::ValueIndex positions = TRY(node.scratch({DType::kI64, node.type(0).shape}));
  const pte::ValueIndex count = TRY(node.size(node.type(0).shape[static_cast<std::size_t>(attrs.axis)]));
  node.finish({TRY(node.input(0)), count, node.integer(attrs.axis), node.boolean(attrs.descending), node.boolean(true)},
              {TRY(node.result()), positions});
  return {};
}

// Equal numbers stay in their order: groups of them are counted, and positions are sorted once more by group * size +
// position, of which no two are equal.
Expected<void> write_argsort(NodeWriter& node) {
  const SortAttrs& attrs = node.as<SortAttrs>();
  const TensorType places{DType::kI64, node.type(0).shape};
  const Dim size = places.shape[static_cast<std::size_t>(attrs.axis)];
  const pte::ValueIndex axis = node.integer(attrs.axis);
  const Sorted first = TRY(sorted(node, TRY(node.input(0)), node.type(0).dtype, attrs.descending));
  const pte::ValueIndex groups =
      TRY(node.step(names::kCumsum, {TRY(is_new(node, first.numbers)), axis, node.none()}, places));
  const pte::ValueIndex keys = TRY(node.step(names::kAdd, {first.positions, groups, TRY(node.size(size))}, places));
  const Sorted second = TRY(sorted(node, keys, DType::kI64, false));
  return node.finish(names::kGather, {first.positions, axis, second.positions, node.boolean(false)});
}

// The axes to reduce, sorted; no list, or an empty one, means all of them.
Expected<Ints> axes_to_reduce(const RunningCall& call, std::size_t i, const Tensor& input) {
  Ints axes;
  if (!call.is_none(i)) axes = TRY(call.axes(i, input.rank()));
  if (axes.empty()) return all_axes(input);
  std::ranges::sort(axes);
  return axes;
}

// What is summed: as another type where the call says so, and integers as i64.
Expected<Tensor> summand(const RunningCall& call, std::size_t dtype) {
  const Tensor input = TRY(call.tensor(0));
  const DType own = is_floating(input.dtype()) ? input.dtype() : DType::kI64;
  const DType wanted = call.is_none(dtype) ? own : TRY(call.dtype(dtype));
  if (wanted == input.dtype()) return input;
  return call.compute(Op::kCast, DTypeAttrs{wanted}, input);
}

template <Op op>
Expected<void> run_sum(RunningCall& call) {
  const Tensor input = TRY(summand(call, 3));
  const bool keepdim = TRY(call.boolean(2));
  const ReduceAttrs attrs{TRY(axes_to_reduce(call, 1, input)), keepdim};
  return call.store(4, op, attrs, input);
}
template <Op op>
Expected<void> run_extreme(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const bool keepdim = TRY(call.boolean(2));
  const ReduceAttrs attrs{TRY(axes_to_reduce(call, 1, input)), keepdim};
  return call.store(3, op, attrs, input);
}
// One axis by number, and all of them without one.
template <Op op>
Expected<void> run_along_axis(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const bool keepdim = TRY(call.boolean(2));
  return call.store(3, op, ReduceAttrs{{TRY(call.axis(1, input.rank()))}, keepdim}, input);
}
template <Op op>
Expected<void> run_over_all(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  return call.store(1, op, ReduceAttrs{all_axes(input), false}, input);
}
template <Op op>
Expected<void> run_sum_over_all(RunningCall& call) {
  const Tensor input = TRY(summand(call, 1));
  return call.store(2, op, ReduceAttrs{all_axes(input), false}, input);
}
// The extreme of an axis and its position.
template <Op op, Op position>
Expected<void> run_extreme_and_position(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const bool keepdim = TRY(call.boolean(2));
  const ReduceAttrs attrs{{TRY(call.axis(1, input.rank()))}, keepdim};
  const Tensor positions = TRY(call.compute(position, attrs, input));
  TRY(call.store(3, op, attrs, input));
  return call.set_tensor(4, positions);
}
Expected<void> run_prod(RunningCall& call) {
  const Tensor input = TRY(summand(call, 3));
  const bool keepdim = TRY(call.boolean(2));
  const ReduceAttrs attrs{{TRY(call.axis(1, input.rank()))}, keepdim};
  return call.store(4, Op::kProd, attrs, input);
}
// Without an axis, the position among all elements.
template <Op op>
Expected<void> run_position(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const bool keepdim = TRY(call.boolean(2));
  if (!call.is_none(1)) {
    const ReduceAttrs attrs{{TRY(call.axis(1, input.rank()))}, keepdim};
    return call.store(3, op, attrs, input);
  }
  const Tensor found = TRY(call.compute(op, ReduceAttrs{{0}, false}, input.with_sizes({input.count()})));
  return call.set_tensor(3, found.with_sizes(std::vector<std::int64_t>(keepdim ? input.sizes().size() : 0, 1)));
}
Expected<void> run_variance(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const double correction = call.is_none(2) ? 1 : TRY(call.number(2));
  const bool keepdim = TRY(call.boolean(3));
  const VarianceAttrs attrs{TRY(axes_to_reduce(call, 1, input)), keepdim, correction};
  return call.store(4, Op::kVariance, attrs, input);
}
// The divisor is one less than the count where it is unbiased.
Expected<void> run_unbiased_variance(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const double correction = TRY(call.boolean(2)) ? 1 : 0;
  const bool keepdim = TRY(call.boolean(3));
  const VarianceAttrs attrs{TRY(axes_to_reduce(call, 1, input)), keepdim, correction};
  return call.store(4, Op::kVariance, attrs, input);
}
Expected<void> run_variance_and_mean(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const double correction = call.is_none(2) ? 1 : TRY(call.number(2));
  const bool keepdim = TRY(call.boolean(3));
  const Ints axes = TRY(axes_to_reduce(call, 1, input));
  const Tensor mean = TRY(call.compute(Op::kMean, ReduceAttrs{axes, keepdim}, input));
  TRY(call.store(4, Op::kVariance, VarianceAttrs{axes, keepdim, correction}, input));
  return call.set_tensor(5, mean);
}
Expected<void> run_running_sum(RunningCall& call) {
  const Tensor input = TRY(summand(call, 2));
  return call.store(3, Op::kCumsum, AxisAttrs{TRY(call.axis(1, input.rank()))}, input);
}
template <Op op>
Expected<void> run_softmax(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  if (TRY(call.boolean(2))) return fail(ErrorKind::kUnsupported, "softmax of halves to floats");
  return call.store(3, op, AxisAttrs{TRY(call.axis(1, input.rank()))}, input);
}
Expected<void> run_topk(RunningCall& call) {
  const Tensor input = TRY(call.tensor(0));
  const std::int64_t axis = TRY(call.axis(2, input.rank()));
  const std::int64_t count = TRY(call.integer(1));
  if (count < 0 || count > input.size(axis)) return bad_input("k is larger than the axis");
  if (!is_floating(input.dtype()) && !is_integer(input.dtype())) return bad_input("elements without an order");
  const bool largest = TRY(call.boolean(3));
  const bool is_narrow = is_half(input.dtype());
  const executorch_kernels::Sorted found =
      executorch_kernels::topk(widened(input), axis, count, largest, TRY(call.boolean(4)));
  TRY(call.set_tensor(5, is_narrow ? narrowed(found.numbers, input.dtype()) : found.numbers));
  return call.set_tensor(6, found.positions);
}

constexpr Kernel kReduceKernels[] = {
    {.name = "aten::sum.IntList_out",
     .arguments = "tJbf",
     .run = run_sum<Op::kSum>,
     .written = {Op::kSum, write_reduced}},
    {.name = names::kMean, .arguments = "tJbf", .run = run_sum<Op::kMean>, .written = {Op::kMean, write_reduced}},
    {.name = names::kProd,
     .arguments = "tibf",
     .run = run_prod,
     .written = {.op = Op::kProd, .write = write_prod, .widens = true}},
    {.name = "aten::amax.out",
     .arguments = "tIb",
     .run = run_extreme<Op::kAmax>,
     .written = {Op::kAmax, write_extreme}},
    {.name = "aten::amin.out",
     .arguments = "tIb",
     .run = run_extreme<Op::kAmin>,
     .written = {Op::kAmin, write_extreme}},
    {.name = names::kAny, .arguments = "tJb", .run = run_extreme<Op::kAny>, .written = {Op::kAny, write_extreme}},
    {.name = "aten::any.out", .arguments = "tib", .run = run_along_axis<Op::kAny>},
    {.name = "aten::any.all_out", .arguments = "t", .run = run_over_all<Op::kAny>},
    {.name = "aten::max.unary_out", .arguments = "t", .run = run_over_all<Op::kAmax>},
    {.name = "aten::min.unary_out", .arguments = "t", .run = run_over_all<Op::kAmin>},
    {.name = "aten::max.dim_max",
     .arguments = "tib",
     .run = run_extreme_and_position<Op::kAmax, Op::kArgmax>,
     .outs = 2},
    {.name = "aten::min.dim_min",
     .arguments = "tib",
     .run = run_extreme_and_position<Op::kAmin, Op::kArgmin>,
     .outs = 2},
    {.name = "aten::prod.out", .arguments = "tf", .run = run_sum_over_all<Op::kProd>},
    {.name = "aten::mean.dtype_out", .arguments = "tf", .run = run_sum_over_all<Op::kMean>},
    {.name = "aten::argmax.out",
     .arguments = "tjb",
     .run = run_position<Op::kArgmax>,
     .written = {Op::kArgmax, write_position, ElementTypes::kNoBool}},
    {.name = "aten::argmin.out",
     .arguments = "tjb",
     .run = run_position<Op::kArgmin>,
     .written = {Op::kArgmin, write_position, ElementTypes::kNoBool}},
    {.name = "aten::var.correction_out",
     .arguments = "tJmb",
     .run = run_variance,
     .written = {.op = Op::kVariance, .write = write_variance, .widens = true}},
    {.name = "aten::var.out", .arguments = "tJbb", .run = run_unbiased_variance},
    {.name = "aten::var_mean.correction_out", .arguments = "tJmb", .run = run_variance_and_mean, .outs = 2},
    {.name = names::kCumsum,
     .arguments = "tif",
     .run = run_running_sum,
     .written = {.op = Op::kCumsum, .write = write_running_sum, .widens = true}},
    {.name = "aten::_softmax.out",
     .arguments = "tib",
     .run = run_softmax<Op::kSoftmax>,
     .written = {Op::kSoftmax, write_softmax}},
    {.name = "aten::_log_softmax.out",
     .arguments = "tib",
     .run = run_softmax<Op::kLogSoftmax>,
     .written = {Op::kLogSoftmax, write_softmax}},
    {.name = names::kTopk,
     .arguments = "tiibb",
     .run = run_topk,
     .written = {Op::kSort, write_sort, ElementTypes::kNoBool},
     .outs = 2},
};
constexpr WrittenOp kReduceComposites[] = {
    {Op::kAll, write_all},
    {.op = Op::kArgsort, .write = write_argsort, .types = ElementTypes::kNoBool, .kernel = names::kTopk},
};

}  // namespace

Family reduce_family() { return {kReduceKernels, kReduceComposites}; }

}  // namespace isthmus::host
