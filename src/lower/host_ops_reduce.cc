// Host ops that reduce axes or run along one.
#include "lower/host_ops.h"

namespace isthmus {
namespace {

// To the kernels, no axes are all axes.
Expected<pte::ValueIndex> axes_of(HostNode& node, const Ints& axes) {
  if (axes.empty() && node.type(0).rank() > 0) return fail(ErrorKind::kUnsupported, "it reduces no axis");
  return node.integers(axes);
}

Expected<void> write_extreme(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.truth(attrs.keepdim)});
}

Expected<void> write_reduced(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.truth(attrs.keepdim), node.none()});
}

// All are true where none is false.
Expected<void> write_all(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  const pte::ValueIndex opposite =
      TRY(node.step("aten::logical_not.out", {TRY(node.input(0))}, {DType::kBool, node.type(0).shape}));
  const pte::ValueIndex any =
      TRY(node.step("aten::any.dims_out", {opposite, TRY(axes_of(node, attrs.axes)), node.truth(attrs.keepdim)},
                    {DType::kBool, node.result_type().shape}));
  return node.finish("aten::logical_not.out", {any});
}

// One axis after the other, the last one first: the numbers of those before it stay the same.
Expected<void> write_prod(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  TensorType type = node.type(0);
  pte::ValueIndex value = TRY(node.input(0));
  for (std::size_t i = attrs.axes.size(); i-- > 0;) {
    const std::vector<pte::ValueIndex> args{value, node.integer(attrs.axes[i]), node.truth(attrs.keepdim), node.none()};
    if (i == 0) return node.finish(args);
    if (attrs.keepdim) {
      type.shape[static_cast<std::size_t>(attrs.axes[i])] = Dim(1);
    } else {
      type.shape.erase(type.shape.begin() + attrs.axes[i]);
    }
    value = TRY(node.step("aten::prod.int_out", args, type));
  }
  return fail(ErrorKind::kUnsupported, "it reduces no axis");
}

Expected<void> write_position(HostNode& node) {
  const ReduceAttrs& attrs = node.as<ReduceAttrs>();
  return node.finish({TRY(node.input(0)), node.integer(attrs.axes[0]), node.truth(attrs.keepdim)});
}

Expected<void> write_variance(HostNode& node) {
  const VarianceAttrs& attrs = node.as<VarianceAttrs>();
  return node.finish(
      {TRY(node.input(0)), TRY(axes_of(node, attrs.axes)), node.real(attrs.correction), node.truth(attrs.keepdim)});
}

// PyTorch keeps the sum of floats in a double, the kernel in an element of its result.
Expected<void> write_running_sum(HostNode& node) {
  const TensorType& type = node.result_type();
  const pte::ValueIndex axis = node.integer(node.as<AxisAttrs>().axis);
  if (type.dtype != DType::kF32) return node.finish({TRY(node.input(0)), axis, node.none()});
  const pte::ValueIndex sums =
      TRY(node.row_step({TRY(node.input(0)), axis, TRY(node.element_type(DType::kF64))}, {DType::kF64, type.shape}));
  return node.finish("dim_order_ops::_to_dim_order_copy.out", node.cast_arguments(sums, type.rank()));
}

Expected<void> write_softmax(HostNode& node) {
  return node.finish({TRY(node.input(0)), node.integer(node.as<AxisAttrs>().axis), node.truth(false)});
}

// All numbers of the axis are its greatest or smallest ones. The kernel brings equal numbers in any order.
struct Sorted {
  pte::ValueIndex numbers, positions;
};
Expected<Sorted> sorted(HostNode& node, pte::ValueIndex value, DType dtype, bool descending) {
  const std::int64_t axis = node.as<SortAttrs>().axis;
  const Shape& shape = node.type(0).shape;
  const Sorted result{TRY(node.scratch({dtype, shape})), TRY(node.scratch({DType::kI64, shape}))};
  const pte::ValueIndex count = TRY(node.size(shape[static_cast<std::size_t>(axis)]));
  node.finish({value, count, node.integer(axis), node.truth(descending), node.truth(true)},
              {result.numbers, result.positions});
  return result;
}

// Which numbers along the axis differ from the one before them; the first one does not.
Expected<pte::ValueIndex> is_new(HostNode& node, pte::ValueIndex numbers) {
  const auto axis = static_cast<std::size_t>(node.as<SortAttrs>().axis);
  const DType dtype = node.type(0).dtype;
  const Shape& shape = node.type(0).shape;
  Shape shorter = shape;
  shorter[axis] = node.exprs().add(shape[axis], -1);
  const TensorType mask_type{DType::kBool, shorter};
  const auto part = [&](pte::ValueIndex start, pte::ValueIndex end) {
    return node.step("aten::slice_copy.Tensor_out",
                     {numbers, node.integer(static_cast<std::int64_t>(axis)), start, end, node.integer(1)},
                     {dtype, shorter});
  };
  const pte::ValueIndex before = TRY(part(node.integer(0), TRY(node.size(shorter[axis]))));
  const pte::ValueIndex after = TRY(part(node.integer(1), node.none()));
  pte::ValueIndex differs = TRY(node.step("aten::ne.Tensor_out", {before, after}, mask_type));
  if (is_floating(dtype)) {
    const pte::ValueIndex nan = TRY(node.step("aten::isnan.out", {before}, mask_type));
    const pte::ValueIndex nans = TRY(
        node.step("aten::logical_and.out", {nan, TRY(node.step("aten::isnan.out", {after}, mask_type))}, mask_type));
    differs = TRY(node.step("aten::logical_xor.out", {differs, nans}, mask_type));
  }
  Ints sides(2 * (shape.size() - axis), 0);  // the last axis first
  sides[sides.size() - 2] = 1;
  return node.step("aten::constant_pad_nd.out", {differs, node.integers(sides), node.truth(false)},
                   {DType::kBool, shape});
}

Expected<void> write_sort(HostNode& node) {
  const SortAttrs& attrs = node.as<SortAttrs>();
  const pte::ValueIndex positions = TRY(node.scratch({DType::kI64, node.type(0).shape}));
  const pte::ValueIndex count = TRY(node.size(node.type(0).shape[static_cast<std::size_t>(attrs.axis)]));
  node.finish({TRY(node.input(0)), count, node.integer(attrs.axis), node.truth(attrs.descending), node.truth(true)},
              {TRY(node.result()), positions});
  return {};
}

// Equal numbers stay in their order: groups of them are counted, and positions are sorted once more by group * size +
// position, of which no two are equal.
Expected<void> write_argsort(HostNode& node) {
  const SortAttrs& attrs = node.as<SortAttrs>();
  const TensorType places{DType::kI64, node.type(0).shape};
  const Dim size = places.shape[static_cast<std::size_t>(attrs.axis)];
  const pte::ValueIndex axis = node.integer(attrs.axis);
  const Sorted first = TRY(sorted(node, TRY(node.input(0)), node.type(0).dtype, attrs.descending));
  const pte::ValueIndex groups =
      TRY(node.step("aten::cumsum.out", {TRY(is_new(node, first.numbers)), axis, node.none()}, places));
  const pte::ValueIndex keys = TRY(node.step("aten::add.out", {first.positions, groups, TRY(node.size(size))}, places));
  const Sorted second = TRY(sorted(node, keys, DType::kI64, false));
  return node.finish("aten::gather.out", {first.positions, axis, second.positions, node.truth(false)});
}

constexpr HostOp kReduceOps[] = {
    {Op::kSum, "aten::sum.IntList_out", write_reduced},
    {Op::kMean, "aten::mean.out", write_reduced},
    {.op = Op::kProd, .kernel = "aten::prod.int_out", .write = write_prod, .widens = true},
    {Op::kAmax, "aten::amax.out", write_extreme},
    {Op::kAmin, "aten::amin.out", write_extreme},
    {Op::kAny, "aten::any.dims_out", write_extreme},
    {Op::kAll, "", write_all},
    {Op::kArgmax, "aten::argmax.out", write_position, HostTypes::kNoBool},
    {Op::kArgmin, "aten::argmin.out", write_position, HostTypes::kNoBool},
    {.op = Op::kVariance, .kernel = "aten::var.correction_out", .write = write_variance, .widens = true},
    {.op = Op::kCumsum, .kernel = "aten::cumsum.out", .write = write_running_sum, .widens = true},
    {Op::kSoftmax, "aten::_softmax.out", write_softmax},
    {Op::kLogSoftmax, "aten::_log_softmax.out", write_softmax},
    {Op::kSort, "aten::topk.values", write_sort, HostTypes::kNoBool},
    {Op::kArgsort, "aten::topk.values", write_argsort, HostTypes::kNoBool},
};

}  // namespace

std::span<const HostOp> host_reduce_ops() { return kReduceOps; }

}  // namespace isthmus
